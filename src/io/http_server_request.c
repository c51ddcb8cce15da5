/* http_server_request.c: parses the request line and the length of a body; other headers are
 * checked and discarded. */
#include "io/http_server_request.h"

#include <stdint.h>

enum {
    FINE = 200,
    BAD = 400,
    METHOD = 405,
    NO_LENGTH = 411,
    BODY_TOO_LARGE = 413,
    TOO_LARGE = 431,
    VERSION = 505,
    LENGTH_DIGITS_MAX = 9,
};

/* Offset after the blank line; 0 if it has not come yet. Accepts both kinds of line ends. */
static size_t http_server_request_find_end(struct str bytes)
{
    size_t line = 0; /* start of the current line */
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] != '\n') {
            continue;
        }
        bool is_blank = i == line || (i == line + 1 && bytes.ptr[line] == '\r');
        if (is_blank && line > 0) {
            return i + 1;
        }
        line = i + 1;
    }
    return 0;
}

static struct str cut_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

static bool is_visible(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return text.len > 0;
}

static int http_server_request_read_line(struct str line, size_t body_max,
                                         struct http_server_request *request)
{
    struct str method = str_cut(&line, ' ');
    struct str target = str_cut(&line, ' ');
    if (!is_visible(method) || !is_visible(target) || !str_starts(line, "HTTP/")) {
        return BAD;
    }
    if (!str_is(line, "HTTP/1.1") && !str_is(line, "HTTP/1.0")) {
        return VERSION;
    }
    request->is_head = str_is(method, "HEAD");
    request->is_put = body_max > 0 && str_is(method, "PUT");
    if (!request->is_head && !request->is_put && !str_is(method, "GET")) {
        return METHOD;
    }
    request->path = str_cut(&target, '?');
    return str_starts(request->path, "/") ? FINE : BAD;
}

/* Names of headers are in any case; `lower` is in lower case. */
static bool is_name(struct str name, const char *lower)
{
    size_t i = 0;
    for (; i < name.len && lower[i] != '\0'; i++) {
        char c = name.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != lower[i]) {
            return false;
        }
    }
    return i == name.len && lower[i] == '\0';
}

static bool read_length(struct str text, size_t *ret_length)
{
    *ret_length = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
        *ret_length = *ret_length * 10 + (size_t)(text.ptr[i] - '0');
    }
    return text.len > 0 && text.len <= LENGTH_DIGITS_MAX;
}

/* A name and a colon. Only the length of a body is used; SIZE_MAX: not given so far. */
static bool read_header(struct str line, size_t *length)
{
    size_t colon = str_find_char(line, ':');
    if (colon == SIZE_MAX || !is_visible(str_sub(line, 0, colon))) {
        return false;
    }
    struct str name = str_sub(line, 0, colon);
    if (is_name(name, "content-length")) {
        return *length == SIZE_MAX &&
               read_length(str_trim(str_sub(line, colon + 1, line.len)), length);
    }
    return !is_name(name, "transfer-encoding");
}

/* `rest` are the bytes after the head. */
static int http_server_request_read_body(struct str rest, size_t length, size_t body_max,
                                         struct http_server_request *request)
{
    if (length == SIZE_MAX) {
        return NO_LENGTH;
    }
    if (length > body_max) {
        return BODY_TOO_LARGE;
    }
    request->body = str_sub(rest, 0, length);
    return rest.len < length ? HTTP_REQUEST_INCOMPLETE : FINE;
}

int http_request_read(struct str bytes, size_t body_max, struct http_server_request *ret_request)
{
    struct http_server_request request = {0};
    size_t length = SIZE_MAX;
    size_t end = http_server_request_find_end(bytes);
    if (end > HTTP_REQUEST_BYTES_MAX || (end == 0 && bytes.len >= HTTP_REQUEST_BYTES_MAX)) {
        return TOO_LARGE;
    }
    if (end == 0) {
        return HTTP_REQUEST_INCOMPLETE;
    }
    struct str rest = str_sub(bytes, 0, end);
    int status = http_server_request_read_line(cut_line(&rest), body_max, &request);
    for (struct str line = cut_line(&rest); status == FINE && line.len > 0;
         line = cut_line(&rest)) {
        status = read_header(line, &length) ? FINE : BAD;
    }
    if (status == FINE && request.is_put) {
        status = http_server_request_read_body(str_sub(bytes, end, bytes.len), length, body_max,
                                               &request);
    }
    if (status == FINE) {
        request.size = end + request.body.len;
        *ret_request = request;
    }
    return status;
}
