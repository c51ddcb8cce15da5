/* http_server_request.c: parses the request line; headers are checked and discarded. */
#include "io/http_server_request.h"

enum { FINE = 200, BAD = 400, METHOD = 405, TOO_LARGE = 431, VERSION = 505 };

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

static int http_server_request_read_line(struct str line, struct http_server_request *request)
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
    if (!request->is_head && !str_is(method, "GET")) {
        return METHOD;
    }
    request->path = str_cut(&target, '?');
    return str_starts(request->path, "/") ? FINE : BAD;
}

/* A name and a colon; values are ignored. */
static bool is_header(struct str line)
{
    size_t colon = str_find_char(line, ':');
    return colon != SIZE_MAX && is_visible(str_sub(line, 0, colon));
}

int http_request_read(struct str bytes, struct http_server_request *ret_request)
{
    struct http_server_request request = {0};
    size_t end = http_server_request_find_end(bytes);
    if (end > HTTP_REQUEST_BYTES_MAX || (end == 0 && bytes.len >= HTTP_REQUEST_BYTES_MAX)) {
        return TOO_LARGE;
    }
    if (end == 0) {
        return HTTP_REQUEST_INCOMPLETE;
    }
    struct str rest = str_sub(bytes, 0, end);
    int status = http_server_request_read_line(cut_line(&rest), &request);
    for (struct str line = cut_line(&rest); status == FINE && line.len > 0;
         line = cut_line(&rest)) {
        status = is_header(line) ? FINE : BAD;
    }
    if (status == FINE) {
        *ret_request = request;
    }
    return status;
}
