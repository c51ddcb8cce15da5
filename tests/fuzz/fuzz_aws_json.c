/* fuzz_aws_json.c: any bytes as credentials in each of their JSON forms, and as an error. */
#include "fuzz.h"

#include "provider/aws/aws_error.h"
#include "provider/aws/credential_json.h"

typedef bool read_fn(struct str json, struct arena *arena, struct aws_credentials *ret_credentials,
                     struct err *err);

static void check_header(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ') {
            fuzz_fail("keys can stand in a header", text);
        }
    }
}

static void check_form(read_fn *read_form, struct str bytes)
{
    struct arena arena;
    struct aws_credentials keys;
    struct err err = {0};
    arena_init(&arena);
    if (read_form(bytes, &arena, &keys, &err)) {
        if (keys.access_key.len == 0 || keys.secret_key.len == 0) {
            fuzz_fail("keys are whole", bytes);
        }
        check_header(keys.access_key);
        check_header(keys.session_token);
    } else if (err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    struct arena arena;
    struct sso_token token;
    struct err err = {0};
    check_form(credential_from_process, bytes);
    check_form(credential_from_container, bytes);
    check_form(credential_from_imds, bytes);
    check_form(credential_from_sso, bytes);
    arena_init(&arena);
    if (sso_token_read(bytes, &arena, &token, &err)) {
        check_header(token.access_token);
    }
    check_header(aws_error_read(400, STR(""), bytes, &arena).code);
    arena_clear(&arena);
    return 0;
}
