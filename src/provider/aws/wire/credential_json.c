/* credential_json.c: the five JSON formats of credentials, each as a list of fields. */
#include "provider/aws/wire/credential_json.h"

#include "provider/aws_time.h"

#include <jansson.h>

enum { FIELD_BYTES_MAX = 32 * 1024, CODE_SHOWN_MAX = 64 };

/* ---- one document ---- */

static void credential_json_drop(json_t **json)
{
    json_decref(*json);
}

#define AUTO_JSON __attribute__((cleanup(credential_json_drop)))

/* NULL with an error if it is not one JSON object. jansson's own message is not used because it
 * quotes the text. */
static json_t *credential_json_load(struct str text, struct err *err)
{
    json_error_t where;
    if (text.len > CREDENTIAL_BYTES_MAX) {
        err_set(err, ERR_PROTOCOL, "more than %d bytes", CREDENTIAL_BYTES_MAX);
        return NULL;
    }
    json_t *json = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        err_set(err, ERR_PROTOCOL, "invalid JSON at line %d, column %d", where.line, where.column);
        return NULL;
    }
    if (!json_is_object(json)) {
        err_set(err, ERR_PROTOCOL, "the JSON is not an object");
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- fields ---- */

enum need { OPTIONAL, REQUIRED };

/* Missing and null are equivalent; an optional field is then empty. */
static bool credential_json_get_text(const json_t *json, const char *name, enum need need,
                                     struct arena *arena, struct str *ret_text, struct err *err)
{
    const json_t *value = json_object_get(json, name);
    if (!value || json_is_null(value)) {
        *ret_text = STR("");
        return need == OPTIONAL || err_set(err, ERR_PROTOCOL, "%s is missing", name);
    }
    if (!json_is_string(value)) {
        return err_set(err, ERR_PROTOCOL, "%s is not a string", name);
    }
    struct str text = {json_string_value(value), json_string_length(value)};
    if (text.len > FIELD_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "%s has more than %d bytes", name, FIELD_BYTES_MAX);
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == '\x7f') {
            return err_set(err, ERR_PROTOCOL, "%s has a control character", name);
        }
    }
    if (text.len == 0 && need == REQUIRED) {
        return err_set(err, ERR_PROTOCOL, "%s is empty", name);
    }
    *ret_text = arena_str(arena, text);
    return true;
}

static bool get_time(const json_t *json, const char *name, enum need need, struct arena *arena,
                     int64_t *ret_moment, struct err *err)
{
    struct str text;
    if (!credential_json_get_text(json, name, need, arena, &text, err)) {
        return false;
    }
    if (text.len == 0) {
        *ret_moment = INT64_MAX;
        return true;
    }
    return aws_time_parse(text, ret_moment) || err_set(err, ERR_PROTOCOL, "%s is not a time", name);
}

/* The field names of one format. */
struct credential_json_form {
    const char *access_key;
    const char *secret_key;
    const char *session_token;
    const char *expiration; /* NULL: read by the caller */
    enum need need_token;
    enum need need_expiration;
};

static bool get_keys(const json_t *json, const struct credential_json_form *form,
                     struct arena *arena, struct aws_credentials *ret_credentials, struct err *err)
{
    struct aws_credentials got = {.expires_at = INT64_MAX};
    bool ok = credential_json_get_text(json, form->access_key, REQUIRED, arena, &got.access_key,
                                       err) &&
              credential_json_get_text(json, form->secret_key, REQUIRED, arena, &got.secret_key,
                                       err) &&
              credential_json_get_text(json, form->session_token, form->need_token, arena,
                                       &got.session_token, err) &&
              credential_json_get_text(json, "AccountId", OPTIONAL, arena, &got.account_id, err) &&
              (!form->expiration || get_time(json, form->expiration, form->need_expiration, arena,
                                             &got.expires_at, err));
    if (ok) {
        *ret_credentials = got;
    }
    return ok;
}

/* ---- formats ---- */

static const struct credential_json_form machine_form = {
    "AccessKeyId", "SecretAccessKey", "Token", "Expiration", REQUIRED, REQUIRED};

bool credential_from_process(struct str json, struct arena *arena,
                             struct aws_credentials *ret_credentials, struct err *err)
{
    static const struct credential_json_form form = {
        "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration", OPTIONAL, OPTIONAL};
    AUTO_JSON json_t *root = credential_json_load(json, err);
    if (!root) {
        return false;
    }
    const json_t *version = json_object_get(root, "Version");
    if (!json_is_integer(version)) {
        return err_set(err, ERR_PROTOCOL, "Version is missing or not a number");
    }
    if (json_integer_value(version) != 1) {
        return err_set(err, ERR_PROTOCOL, "Version is %lld; only 1 is supported",
                       (long long)json_integer_value(version));
    }
    return get_keys(root, &form, arena, ret_credentials, err);
}

/* Reports the other side's error code; it is shown only if it is short and has no blanks. */
static bool fail_with_code(const json_t *code, struct err *err)
{
    struct str text = {json_string_value(code), json_string_length(code)};
    bool is_code = text.len > 0 && text.len <= CODE_SHOWN_MAX;
    for (size_t i = 0; is_code && i < text.len; i++) {
        char c = text.ptr[i];
        is_code = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
    }
    return is_code ? err_set(err, ERR_AUTH, "refused: %.*s", STR_ARG(text))
                   : err_set(err, ERR_AUTH, "refused, without an error code");
}

bool credential_from_container(struct str json, struct arena *arena,
                               struct aws_credentials *ret_credentials, struct err *err)
{
    AUTO_JSON json_t *root = credential_json_load(json, err);
    if (!root) {
        return false;
    }
    const json_t *code = json_object_get(root, "code");
    if (json_is_string(code) && !json_object_get(root, "AccessKeyId")) {
        return fail_with_code(code, err);
    }
    return get_keys(root, &machine_form, arena, ret_credentials, err);
}

bool credential_from_imds(struct str json, struct arena *arena,
                          struct aws_credentials *ret_credentials, struct err *err)
{
    AUTO_JSON json_t *root = credential_json_load(json, err);
    if (!root) {
        return false;
    }
    const json_t *code = json_object_get(root, "Code");
    if (json_is_string(code) &&
        !str_is((struct str){json_string_value(code), json_string_length(code)}, "Success")) {
        return fail_with_code(code, err);
    }
    return get_keys(root, &machine_form, arena, ret_credentials, err);
}

bool credential_from_sso(struct str json, struct arena *arena,
                         struct aws_credentials *ret_credentials, struct err *err)
{
    static const struct credential_json_form form = {
        "accessKeyId", "secretAccessKey", "sessionToken", NULL, REQUIRED, REQUIRED};
    static const json_int_t milliseconds = 1000;
    AUTO_JSON json_t *root = credential_json_load(json, err);
    if (!root) {
        return false;
    }
    const json_t *inner = json_object_get(root, "roleCredentials");
    if (!json_is_object(inner)) {
        return err_set(err, ERR_PROTOCOL, "roleCredentials is missing");
    }
    const json_t *expiration = json_object_get(inner, "expiration");
    if (!json_is_integer(expiration) || json_integer_value(expiration) <= 0) {
        return err_set(err, ERR_PROTOCOL, "expiration is missing or not a positive number");
    }
    if (!get_keys(inner, &form, arena, ret_credentials, err)) {
        return false;
    }
    ret_credentials->expires_at = json_integer_value(expiration) / milliseconds;
    return true;
}

bool sso_token_read(struct str json, struct arena *arena, struct sso_token *ret_token,
                    struct err *err)
{
    struct sso_token got;
    AUTO_JSON json_t *root = credential_json_load(json, err);
    if (!root) {
        return false;
    }
    bool ok =
        credential_json_get_text(root, "accessToken", REQUIRED, arena, &got.access_token, err) &&
        get_time(root, "expiresAt", REQUIRED, arena, &got.expires_at, err) &&
        credential_json_get_text(root, "refreshToken", OPTIONAL, arena, &got.refresh_token, err) &&
        credential_json_get_text(root, "clientId", OPTIONAL, arena, &got.client_id, err) &&
        credential_json_get_text(root, "clientSecret", OPTIONAL, arena, &got.client_secret, err) &&
        get_time(root, "registrationExpiresAt", OPTIONAL, arena, &got.registration_expires_at, err);
    if (ok) {
        *ret_token = got;
    }
    return ok;
}

/* Sets the field, or removes it if `value` is empty. */
static bool credential_json_set_text(json_t *json, const char *name, struct str value)
{
    if (value.len == 0) {
        (void)json_object_del(json, name);
        return true;
    }
    return json_object_set_new(json, name, json_stringn(value.ptr, value.len)) == 0;
}

static int credential_json_add_piece(const char *bytes, size_t count, void *context)
{
    buf_add(context, (struct str){bytes, count});
    return 0;
}

static bool renew(json_t *root, const json_t *reply, int64_t now, struct arena *arena,
                  struct buf *out, struct err *err)
{
    static const json_int_t life_max = (json_int_t)366 * 24 * 3600;
    struct str access;
    struct str refresh;
    char until[AWS_TIME_ISO_SIZE];
    const json_t *life = json_object_get(reply, "expiresIn");
    if (!credential_json_get_text(reply, "accessToken", REQUIRED, arena, &access, err) ||
        !credential_json_get_text(reply, "refreshToken", OPTIONAL, arena, &refresh, err)) {
        return false;
    }
    if (!json_is_integer(life) || json_integer_value(life) <= 0 ||
        json_integer_value(life) > life_max) {
        return err_set(err, ERR_PROTOCOL, "expiresIn is missing or out of range");
    }
    aws_time_iso(now + json_integer_value(life), until);
    bool ok = credential_json_set_text(root, "accessToken", access) &&
              credential_json_set_text(root, "refreshToken", refresh) &&
              credential_json_set_text(root, "expiresAt", str_from(until)) &&
              json_dump_callback(root, credential_json_add_piece, out, JSON_COMPACT) == 0;
    return (ok && !out->is_full) || err_set(err, ERR_INTERNAL, "cannot encode the token");
}

bool sso_token_renew(struct str json, struct str answer, int64_t now, struct buf *out,
                     struct err *err)
{
    AUTO_JSON json_t *root = credential_json_load(json, err);
    AUTO_JSON json_t *reply = root ? credential_json_load(answer, err) : NULL;
    if (!root || !reply) {
        return false;
    }
    struct arena arena;
    arena_init_secret(&arena);
    bool ok = renew(root, reply, now, &arena, out, err);
    arena_clear(&arena);
    return ok;
}
