/* sigv4_probe.c: signs each record, a request in JSON, and prints the headers or the query that
 * make it signed; compared with botocore's signers. */
#include "provider/sigv4.h"

#include "base/encode.h"
#include "json_record.h"
#include "records.h"

#include <stdio.h>

enum { QUERY_BYTES_MAX = 1024 * 1024, RECORD_BYTES_MAX = 16 * 1024 * 1024 };

/* The query as it stands, or made of name and value pairs that are not encoded yet. */
static struct str read_query(const json_t *record, struct arena *arena)
{
    const json_t *params = json_object_get(record, "params");
    AUTO_BUF struct buf query;
    buf_init(&query, QUERY_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(params); i++) {
        const json_t *pair = json_array_get(params, i);
        buf_add_c(&query, i > 0 ? "&" : "");
        encode_uri(&query, item_text(pair, 0), "");
        buf_add_char(&query, '=');
        encode_uri(&query, item_text(pair, 1), "");
    }
    return params ? arena_str(arena, buf_str(&query)) : record_text(record, "query");
}

static void read_headers(const json_t *record, struct arena *arena, struct sigv4_request *request)
{
    const json_t *list = json_object_get(record, "headers");
    struct sigv4_header *headers = ARENA_ARRAY(arena, json_array_size(list), struct sigv4_header);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        headers[i] = (struct sigv4_header){item_text(pair, 0), item_text(pair, 1)};
    }
    request->headers = headers;
    request->header_count = json_array_size(list);
}

static void answer(const json_t *record)
{
    struct arena arena;
    arena_init(&arena);
    struct str kind = record_text(record, "payload");
    struct sigv4_request request = {
        .method = record_text(record, "method"),
        .host = record_text(record, "host"),
        .path = record_text(record, "path"),
        .query = read_query(record, &arena),
        .body = record_text(record, "body"),
        .body_hash = record_text(record, "hash"),
        .payload = str_is(kind, "unsigned") ? SIGV4_UNSIGNED
                   : str_is(kind, "hash")   ? SIGV4_HASH
                                            : SIGV4_BODY,
    };
    struct sigv4_signer signer = {
        .access_key = record_text(record, "access"),
        .secret_key = record_text(record, "secret"),
        .session_token = record_text(record, "token"),
        .region = record_text(record, "region"),
        .service = record_text(record, "service"),
        .time = json_integer_value(json_object_get(record, "time")),
    };
    read_headers(record, &arena, &request);
    json_t *out = json_object();
    if (str_is(record_text(record, "mode"), "presign")) {
        int64_t expires = json_integer_value(json_object_get(record, "expires"));
        json_object_set_new(out, "query",
                            text_json(sigv4_presign(&request, &signer, expires, &arena)));
    } else {
        struct sigv4_result result;
        sigv4_sign(&request, &signer, &arena, &result);
        for (size_t i = 0; i < result.header_count; i++) {
            json_object_set_new(out, result.headers[i].name.ptr,
                                text_json(result.headers[i].value));
        }
        json_object_set_new(out, "canonical", text_json(result.canonical));
    }
    answer_print(out);
    arena_clear(&arena);
}

int main(void)
{
    AUTO_BUF struct buf bytes;
    buf_init(&bytes, RECORD_BYTES_MAX);
    while (record_next(&bytes)) {
        json_t *record = json_loadb(bytes.ptr, bytes.len, JSON_ALLOW_NUL, NULL);
        answer(record);
        json_decref(record);
    }
    return 0;
}
