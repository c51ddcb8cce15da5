/*
 * fuzz_grpc.c: any bytes as a reply of gRPC: the first says how the transfer ended and what is a
 * trailer, then lines "name: value" up to an empty one, then the body.
 */
#include "fuzz.h"

#include "io/grpc.h"

enum { HEADERS_MAX = 16 };

static size_t read_headers(struct str *text, struct http_header *headers)
{
    size_t count = 0;
    while (count < HEADERS_MAX) {
        struct str value = str_cut(text, '\n');
        if (value.len == 0) {
            break;
        }
        struct str name = str_cut(&value, ':');
        headers[count++] = (struct http_header){name, str_trim(value)};
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_header headers[HEADERS_MAX];
    struct arena arena;
    if (size < 2) {
        return 0;
    }
    struct str text = {(const char *)data + 2, size - 2};
    bool is_trailer = (data[0] & 1) != 0;
    struct http_reply reply = {.outcome = (data[0] & 2) != 0 ? HTTP_RESET : HTTP_REPLIED,
                               .status = (data[0] & 4) != 0 ? 200 : 100 + 2 * data[1]};
    size_t count = read_headers(&text, headers);
    *(is_trailer ? &reply.trailers : &reply.headers) = headers;
    *(is_trailer ? &reply.trailer_count : &reply.header_count) = count;
    reply.body = text;
    arena_init(&arena);
    struct grpc_reply read = grpc_read_reply(&reply, "/ray.rpc.X/Y", &arena);
    if (read.status == GRPC_OK ? read.err.kind != ERR_NONE || read.body.len + 5 != text.len
                               : read.err.text[0] == '\0' || read.body.len > 0) {
        fuzz_fail("one whole message, or why not", text);
    }
    arena_clear(&arena);
    return 0;
}
