/* http_head.c: reads status lines, headers and trailers, and rejects forged ones. */
#include "io/http_head.h"

#include <string.h>
#include <strings.h>

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool http_head_is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_token_char(text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0;
}

/* No control bytes except tab: a newline in a value would inject a header. */
static bool is_field_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < ' ' && c != '\t') || c == 127) {
            return false;
        }
    }
    return true;
}

bool http_header_is_valid(struct http_header header)
{
    return http_head_is_token(header.name) && is_field_text(header.value);
}

/* "HTTP/1.1 200 OK", "HTTP/2 200 ". */
static bool http_head_read_status(struct str line, int *ret_status)
{
    uint32_t status;
    str_cut(&line, ' ');
    struct str digits = str_cut(&line, ' ');
    if (digits.len != 3 || !str_to_u32(digits, &status) || status < 100) {
        return false;
    }
    *ret_status = (int)status;
    return true;
}

static bool http_head_begin_reply(struct http_head *head, struct str line)
{
    int status;
    if (!http_head_read_status(line, &status)) {
        return false;
    }
    head->status = status;
    head->is_ended = false;
    head->headers.count = 0; /* drops the headers of an interim reply */
    head->trailers.count = 0;
    return true;
}

bool http_head_is_too_large(const struct http_head *head)
{
    return head->bytes > HTTP_HEAD_BYTES_MAX ||
           head->headers.count + head->trailers.count >= HTTP_HEAD_COUNT_MAX;
}

bool http_head_add(struct http_head *head, struct arena *arena, struct str line)
{
    head->bytes += line.len;
    if (http_head_is_too_large(head)) {
        return false;
    }
    while (line.len > 0 && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '\r')) {
        line.len--;
    }
    if (str_starts(line, "HTTP/")) {
        return http_head_begin_reply(head, line);
    }
    if (line.len == 0) {
        head->is_ended = head->is_ended || head->status >= 200;
        return true;
    }
    struct http_header field = {.value = line};
    field.name = str_cut(&field.value, ':');
    field.value = str_trim(field.value);
    if (!http_header_is_valid(field) || field.name.len == line.len) {
        return true; /* a malformed line; ignored, as in curl */
    }
    struct http_fields *fields = head->is_ended ? &head->trailers : &head->headers;
    ARENA_PUSH(arena, fields->items, fields->count, fields->capacity) = (struct http_header){
        arena_str(arena, field.name), arena_str(arena, field.value)};
    return true;
}

struct str http_fields_find(const struct http_header *items, size_t count, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < count; i++) {
        if (items[i].name.len == len && strncasecmp(items[i].name.ptr, name, len) == 0) {
            return items[i].value;
        }
    }
    return (struct str){0};
}
