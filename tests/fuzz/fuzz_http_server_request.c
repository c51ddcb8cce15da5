/* fuzz_http_server_request.c: any bytes as the head of a request, whole and in pieces. */
#include "fuzz.h"

#include "io/http_server_request.h"

enum { BODY_MAX = 64 };

static void check_path(struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] <= ' ' || path.ptr[i] > '~' || path.ptr[i] == '?') {
            fuzz_fail("a path is visible ASCII without a question", path);
        }
    }
    if (!str_starts(path, "/")) {
        fuzz_fail("a path begins with a slash", path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct http_server_request whole = {0};
    struct http_server_request part = {0};
    int status = http_request_read(bytes, BODY_MAX, &whole);
    if (status == 200) {
        check_path(whole.path);
    }
    if (status == 200 && whole.body.len > (whole.is_put ? BODY_MAX : 0)) {
        fuzz_fail("only a PUT has a body, within the limit", bytes);
    }
    if (status == HTTP_REQUEST_INCOMPLETE && size >= HTTP_REQUEST_BYTES_MAX + BODY_MAX) {
        fuzz_fail("nobody is waited for without end", STR(""));
    }
    /* However it arrives, the answer is the same: the first one that is given is final. */
    size_t step = size / 16 + 1;
    for (size_t at = 0; at < size && size <= HTTP_REQUEST_BYTES_MAX; at += step) {
        int early = http_request_read(str_sub(bytes, 0, at), BODY_MAX, &part);
        if (early != HTTP_REQUEST_INCOMPLETE && early != status) {
            fuzz_fail("what comes behind a request does not change it", bytes);
        }
    }
    return 0;
}
