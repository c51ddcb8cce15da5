/* fuzz_gcp_json.c: any bytes as a file of Google credentials, as a reply of each token service, as
 * the output of an identity's program, and as gcloud's configuration. */
#include "fuzz.h"

#include "provider/gcp/credentials/adc_file.h"
#include "provider/gcp/credentials/adc_search.h"
#include "provider/gcp/credentials/jwt.h"
#include "provider/gcp/credentials/token_reply.h"

enum { NOW = 1700000000 };

/* Goes into a header, a form or a URL. */
static void check_line(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ') {
            fuzz_fail("a value is one line", text);
        }
    }
}

static void check_source(const struct adc_file *file)
{
    check_line(file->quota_project);
    check_line(file->principal);
    check_line(file->token_url);
    if (!adc_is_domain(file->universe)) {
        fuzz_fail("the universe is a domain", file->universe);
    }
    if (file->type != ADC_IMPERSONATED && !adc_is_safe_url(file->token_url)) {
        fuzz_fail("secrets are sent with TLS", file->token_url);
    }
    if (file->impersonation_url.len > 0 && file->principal.len == 0) {
        fuzz_fail("an account is impersonated", file->impersonation_url);
    }
    for (size_t i = 0; i < file->subject.header_count; i++) {
        check_line(file->subject.headers[i].name);
        check_line(file->subject.headers[i].value);
    }
    if (file->base) {
        check_source(file->base);
    }
}

static void check_file(struct str bytes, struct arena *arena)
{
    struct adc_file file;
    struct err err = {0};
    if (!adc_file_read(bytes, arena, &file, &err)) {
        if (err.kind != ERR_AUTH) {
            fuzz_fail("a refusal says why", bytes);
        }
        return;
    }
    check_source(&file);
    check_line(adc_project_number(&file));
    if (file.type == ADC_SERVICE_ACCOUNT && !jwt_check_key(file.private_key, &err) &&
        err.kind != ERR_AUTH) {
        fuzz_fail("a refused key has a reason", bytes);
    }
}

static void check_reply(struct str bytes, enum token_form form, struct arena *arena)
{
    struct token_reply reply;
    struct err err = {0};
    if (!token_reply_read(bytes, form, NOW, arena, &reply, &err)) {
        if (err.kind != ERR_PROTOCOL) {
            fuzz_fail("a refusal says why", bytes);
        }
        return;
    }
    if (!token_is_sendable(reply.token)) {
        fuzz_fail("a token can be sent in a header", reply.token);
    }
    if (form != TOKEN_IAM && reply.expires_at < NOW) {
        fuzz_fail("a token has a life", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    struct arena arena;
    struct str token;
    struct err err = {0};
    bool is_usable = false;
    arena_init(&arena);
    check_file(bytes, &arena);
    for (enum token_form form = TOKEN_OAUTH; form <= TOKEN_IAM; form++) {
        check_reply(bytes, form, &arena);
    }
    check_line(token_refusal_read(bytes, &arena).code);
    if (token_program_read(bytes, NOW, true, &arena, &token, &is_usable, &err) && token.len == 0) {
        fuzz_fail("a program's token has a text", bytes);
    }
    if (token_field_read(bytes, STR("email"), &arena, &token, &err) && token.len == 0) {
        fuzz_fail("a field has a text", bytes);
    }
    check_line(adc_gcloud_project(bytes));
    check_line(adc_gcloud_config_path(NULL, bytes, &arena));
    arena_clear(&arena);
    return 0;
}
