/* fuzz_aws_json.c: any bytes as credentials in each of their JSON forms, as an error, and as a
 * date of HTTP. */
#include "fuzz.h"

#include "provider/aws/wire/aws_error.h"
#include "provider/aws/wire/credential_json.h"
#include "provider/aws_time.h"

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

/* The bytes as a file of single sign-on, and as the answer that renews one: what is written back
 * can be read again. */
static void check_renewal(struct str file, struct str answer)
{
    struct arena arena;
    struct sso_token token;
    struct err err = {0};
    AUTO_BUF struct buf out;
    arena_init(&arena);
    buf_init(&out, 2 * CREDENTIAL_BYTES_MAX);
    if (sso_token_renew(file, answer, 1700000000, &out, &err) && out.len <= CREDENTIAL_BYTES_MAX &&
        !sso_token_read(buf_str(&out), &arena, &token, &err) && err.kind != ERR_PROTOCOL) {
        fuzz_fail("a renewed token can be read", buf_str(&out));
    }
    arena_clear(&arena);
}

static void check_date(struct str text)
{
    int64_t moment = 0;
    if (aws_time_parse_http(text, &moment) && (moment < -62135596800 || moment > 253402300800)) {
        fuzz_fail("a date is within the calendar", text);
    }
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
    check_renewal(bytes, STR("{\"accessToken\":\"A\",\"expiresIn\":28800}"));
    check_renewal(STR("{\"accessToken\":\"A\",\"expiresAt\":\"2020-06-17T10:11:12Z\"}"), bytes);
    check_date(bytes);
    check_header(aws_error_read(400, STR(""), bytes, &arena).code);
    arena_clear(&arena);
    return 0;
}
