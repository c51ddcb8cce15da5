/* http_request.c: one line, then headers that are looked at and forgotten. */
#include "io/http_request.h"

enum { FINE = 200, BAD = 400, METHOD = 405, TOO_LARGE = 431, VERSION = 505 };

/* Where the blank line ends; 0: it has not come. Both kinds of line ends, as every server takes. */
static size_t find_end(struct str bytes)
{
    size_t line = 0; /* where the line begins */
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

static int read_line(struct str line, struct http_request *request)
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

/* A name and a colon; what the value says is nobody's business here. */
static bool is_header(struct str line)
{
    size_t colon = str_find_char(line, ':');
    return colon != SIZE_MAX && is_visible(str_sub(line, 0, colon));
}

int http_request_read(struct str bytes, struct http_request *ret_request)
{
    struct http_request request = {0};
    size_t end = find_end(bytes);
    if (end > HTTP_REQUEST_BYTES_MAX || (end == 0 && bytes.len >= HTTP_REQUEST_BYTES_MAX)) {
        return TOO_LARGE;
    }
    if (end == 0) {
        return HTTP_REQUEST_INCOMPLETE;
    }
    struct str rest = str_sub(bytes, 0, end);
    int status = read_line(cut_line(&rest), &request);
    for (struct str line = cut_line(&rest); status == FINE && line.len > 0;
         line = cut_line(&rest)) {
        status = is_header(line) ? FINE : BAD;
    }
    if (status == FINE) {
        *ret_request = request;
    }
    return status;
}
