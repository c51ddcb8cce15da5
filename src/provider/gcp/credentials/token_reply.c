/* token_reply.c: the forms of replies, each as a list of fields. */
#include "provider/gcp/credentials/token_reply.h"

#include "provider/aws_time.h"

#include <jansson.h>

enum { TOKEN_BYTES_MAX = 32 * 1024, CODE_SHOWN_MAX = 64 };

static const int64_t life_max_s = (int64_t)366 * 24 * 3600;

static void token_reply_drop(json_t **json)
{
    json_decref(*json);
}

#define AUTO_JSON __attribute__((cleanup(token_reply_drop)))

/* NULL with an error if it is not one JSON object. */
static json_t *token_reply_load(struct str text, struct err *err)
{
    json_error_t where;
    json_t *json = text.len <= TOKEN_REPLY_MAX ? json_loadb(text.ptr, text.len, 0, &where) : NULL;
    if (!json_is_object(json)) {
        json_decref(json);
        err_set(err, ERR_PROTOCOL, "it is not a JSON object");
        return NULL;
    }
    return json;
}

static struct str token_reply_text(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

bool token_is_sendable(struct str token)
{
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] <= ' ' || token.ptr[i] > '~') {
            return false;
        }
    }
    return token.len > 0 && token.len <= TOKEN_BYTES_MAX;
}

/* ---- tokens ---- */

static bool token_reply_life(const json_t *value, enum token_form form, int64_t now,
                             int64_t *ret_expires_at, struct err *err)
{
    int64_t life = -1;
    if ((!value || json_is_null(value)) && form == TOKEN_OAUTH) {
        *ret_expires_at = INT64_MAX;
        return true;
    }
    if (json_is_integer(value)) {
        life = json_integer_value(value);
    } else if (json_is_real(value) && json_real_value(value) >= 0 &&
               json_real_value(value) <= (double)life_max_s) {
        life = (int64_t)json_real_value(value);
    } else if (json_is_string(value) && form != TOKEN_METADATA) {
        struct str text = {json_string_value(value), json_string_length(value)};
        if (!str_to_i64(str_trim(text), &life)) {
            life = -1;
        }
    }
    if (life < 0 || life > life_max_s) {
        return err_set(err, ERR_PROTOCOL, "expires_in is missing or out of range");
    }
    *ret_expires_at = now + life;
    return true;
}

/* Exactly "2026-11-15T08:15:57Z". */
static bool token_reply_end(struct str text, int64_t *ret_expires_at, struct err *err)
{
    bool ok = text.len == 20 && text.ptr[10] == 'T' && text.ptr[19] == 'Z' &&
              aws_time_parse(text, ret_expires_at);
    return ok || err_set(err, ERR_PROTOCOL, "expireTime is missing or not a time");
}

bool token_reply_read(struct str json, enum token_form form, int64_t now, struct arena *arena,
                      struct token_reply *ret_reply, struct err *err)
{
    AUTO_JSON json_t *root = token_reply_load(json, err);
    const char *name = form == TOKEN_IAM ? "accessToken" : "access_token";
    int64_t expires_at = 0;
    if (!root) {
        return false;
    }
    struct str token = token_reply_text(root, name);
    struct str refresh = token_reply_text(root, "refresh_token");
    if (!token_is_sendable(token)) {
        return err_set(err, ERR_PROTOCOL, "%s is missing or invalid", name);
    }
    if (refresh.len > TOKEN_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "refresh_token is too long");
    }
    bool ok = form == TOKEN_IAM
                  ? token_reply_end(token_reply_text(root, "expireTime"), &expires_at, err)
                  : token_reply_life(json_object_get(root, "expires_in"), form, now, &expires_at,
                                     err);
    if (ok) {
        *ret_reply = (struct token_reply){.token = arena_str(arena, token),
                                          .refresh_token = arena_str(arena, refresh),
                                          .expires_at = expires_at};
    }
    return ok;
}

bool token_field_read(struct str json, struct str name, struct arena *arena, struct str *ret_text,
                      struct err *err)
{
    AUTO_JSON json_t *root = token_reply_load(json, err);
    if (!root) {
        return false;
    }
    struct str text = token_reply_text(root, arena_str(arena, name).ptr);
    if (text.len == 0 || text.len > TOKEN_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "it has no field \"%.*s\" with a text",
                       STR_ARG(str_sub(name, 0, CODE_SHOWN_MAX)));
    }
    *ret_text = arena_str(arena, text);
    return true;
}

/* ---- errors ---- */

/* A code is short and has no blanks; anything else could quote a secret. */
static bool token_refusal_is_code(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.')) {
            return false;
        }
    }
    return text.len > 0 && text.len <= CODE_SHOWN_MAX;
}

struct token_refusal token_refusal_read(struct str body, struct arena *arena)
{
    static const char *const temporary[] = {"internal_failure", "server_error",
                                            "temporarily_unavailable"};
    struct err err = {0};
    struct token_refusal refusal = {.code = STR("")};
    AUTO_JSON json_t *root = token_reply_load(body, &err);
    if (!root) {
        return refusal;
    }
    struct str code = token_reply_text(root, "error");
    struct str words = token_reply_text(root, "error_description");
    struct str subtype = token_reply_text(root, "error_subtype");
    for (size_t i = 0; i < ARRAY_LEN(temporary); i++) {
        refusal.is_temporary |= str_is(code, temporary[i]) || str_is(words, temporary[i]);
    }
    refusal.needs_login = str_is(code, "invalid_grant") &&
                          (str_is(subtype, "invalid_rapt") || str_is(subtype, "rapt_required"));
    /* Google's APIs have an object with a status instead: "PERMISSION_DENIED". */
    if (json_is_object(json_object_get(root, "error"))) {
        code = token_reply_text(json_object_get(root, "error"), "status");
    }
    if (token_refusal_is_code(code)) {
        refusal.code = arena_str(arena, code);
    }
    return refusal;
}

/* ---- programs ---- */

static bool token_program_check(const json_t *root, struct arena *arena, struct err *err)
{
    const json_t *version = json_object_get(root, "version");
    const json_t *success = json_object_get(root, "success");
    if (!json_is_integer(version) || json_integer_value(version) > 1) {
        return err_set(err, ERR_PROTOCOL, "its version is missing or newer than 1");
    }
    if (!json_is_boolean(success)) {
        return err_set(err, ERR_PROTOCOL, "its field success is missing");
    }
    if (json_is_false(success)) {
        struct str code = token_reply_text(root, "code");
        code = token_refusal_is_code(code) ? arena_str(arena, code) : STR("no code");
        return err_set(err, ERR_AUTH, "it reports an error (%.*s)", STR_ARG(code));
    }
    return true;
}

bool token_program_read(struct str json, int64_t now, bool is_kept, struct arena *arena,
                        struct str *ret_token, bool *ret_is_usable, struct err *err)
{
    static const char urn[] = "urn:ietf:params:oauth:token-type:";
    AUTO_JSON json_t *root = token_reply_load(json, err);
    if (!root || !token_program_check(root, arena, err)) {
        return false;
    }
    const json_t *end = json_object_get(root, "expiration_time");
    struct str type = token_reply_text(root, "token_type");
    struct str kind = str_starts(type, urn) ? str_sub(type, sizeof(urn) - 1, type.len) : STR("");
    const char *name = str_is(kind, "jwt") || str_is(kind, "id_token") ? "id_token"
                       : str_is(kind, "saml2")                         ? "saml_response"
                                                                       : NULL;
    struct str token = name ? token_reply_text(root, name) : STR("");
    if (token.len == 0 || token.len > TOKEN_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "it has no token of a supported token_type");
    }
    *ret_is_usable = end ? json_number_value(end) >= (double)now : !is_kept;
    *ret_token = arena_str(arena, token);
    return true;
}
