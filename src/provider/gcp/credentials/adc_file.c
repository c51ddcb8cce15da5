/* adc_file.c: the five types of credential files, each as a list of fields. */
#include "provider/gcp/credentials/adc_file.h"

#include "provider/aws_time.h"

#include <jansson.h>
#include <string.h>

#define ADC_TOKEN_URL "https://oauth2.googleapis.com/token"
#define ADC_AWS_SUBJECT "urn:ietf:params:aws:token-type:aws4_request"

enum {
    FIELD_BYTES_MAX = 64 * 1024,
    LIST_MAX = 100,
    TYPE_SHOWN_MAX = 40,
    PROGRAM_MS = 30 * 1000,
    PROGRAM_LEAST_MS = 5 * 1000,
    PROGRAM_MOST_MS = 120 * 1000,
};

const char *adc_type_name(enum adc_type type)
{
    static const char *const names[ADC_TYPE_COUNT] = {
        [ADC_USER] = "authorized_user",
        [ADC_SERVICE_ACCOUNT] = "service_account",
        [ADC_EXTERNAL] = "external_account",
        [ADC_EXTERNAL_USER] = "external_account_authorized_user",
        [ADC_IMPERSONATED] = "impersonated_service_account",
    };
    return names[type];
}

/* ---- fields ---- */

/* One file being read. The first error is kept, so that fields can be read in a row. */
struct adc_reader {
    struct arena *arena;
    struct err *err;
    bool is_ok;
};

enum adc_need { OPTIONAL, REQUIRED, MULTILINE }; /* MULTILINE is required, too */

static void adc_fail(struct adc_reader *reader, const char *name, const char *problem)
{
    if (reader->is_ok) {
        reader->is_ok = err_set(reader->err, ERR_AUTH, "%s %s", name, problem);
    }
}

static const char *adc_text_fault(struct str text, enum adc_need need)
{
    if (text.len == 0 && need != OPTIONAL) {
        return "is empty";
    }
    if (text.len > FIELD_BYTES_MAX) {
        return "is too long";
    }
    for (size_t i = 0; i < text.len && need != MULTILINE; i++) {
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == '\x7f') {
            return "has a control character";
        }
    }
    return NULL;
}

static struct str adc_value_text(struct adc_reader *reader, const json_t *value, const char *name,
                                 enum adc_need need)
{
    if (!value || json_is_null(value)) {
        if (need != OPTIONAL) {
            adc_fail(reader, name, "is missing");
        }
        return STR("");
    }
    if (!json_is_string(value)) {
        adc_fail(reader, name, "is not a string");
        return STR("");
    }
    struct str text = {json_string_value(value), json_string_length(value)};
    const char *fault = adc_text_fault(text, need);
    if (fault) {
        adc_fail(reader, name, fault);
    }
    return arena_str(reader->arena, text);
}

static struct str adc_text(struct adc_reader *reader, const json_t *json, const char *name,
                           enum adc_need need)
{
    return adc_value_text(reader, json_object_get(json, name), name, need);
}

static struct str adc_url(struct adc_reader *reader, const json_t *json, const char *name)
{
    struct str url = adc_text(reader, json, name, REQUIRED);
    if (url.len > 0 && !adc_is_safe_url(url)) {
        adc_fail(reader, name, "is not an https URL");
    }
    return url;
}

/* An array of strings. One string is split at blanks. */
static struct adc_list adc_texts(struct adc_reader *reader, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    struct adc_list list = {0};
    size_t capacity = 0;
    if (json_is_string(value)) {
        struct str rest = adc_text(reader, json, name, OPTIONAL);
        while (rest.len > 0 && list.count < LIST_MAX) {
            struct str item = str_cut(&rest, ' ');
            ARENA_PUSH(reader->arena, list.items, list.count, capacity) = item;
        }
        return list;
    }
    if (value && !json_is_null(value) &&
        (!json_is_array(value) || json_array_size(value) > LIST_MAX)) {
        adc_fail(reader, name, "is not a list of at most 100 strings");
        return list;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct str item = adc_value_text(reader, json_array_get(value, i), name, REQUIRED);
        ARENA_PUSH(reader->arena, list.items, list.count, capacity) = item;
    }
    return list;
}

static bool adc_has(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return value && !json_is_null(value);
}

static struct str adc_universe(struct adc_reader *reader, const json_t *json)
{
    struct str universe = adc_text(reader, json, "universe_domain", OPTIONAL);
    if (universe.len > 0 && !adc_is_domain(universe)) {
        adc_fail(reader, "universe_domain", "is not a domain");
    }
    return universe.len > 0 ? universe : STR(ADC_UNIVERSE);
}

/* ---- URLs ---- */

bool adc_is_domain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '-')) {
            return false;
        }
    }
    return text.len > 0 && text.len <= 253;
}

bool adc_is_safe_url(struct str url)
{
    static const char *const local[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    for (size_t i = 0; i < url.len; i++) {
        if (url.ptr[i] == ' ' || url.ptr[i] == '\\') {
            return false;
        }
    }
    if (str_starts(url, "https://")) {
        return url.len > strlen("https://");
    }
    for (size_t i = 0; i < ARRAY_LEN(local); i++) {
        size_t len = strlen(local[i]);
        if (str_starts(url, local[i]) &&
            (url.len == len || url.ptr[len] == ':' || url.ptr[len] == '/')) {
            return str_find_char(url, '@') == SIZE_MAX;
        }
    }
    return false;
}

/* ---- impersonation ---- */

/* The account's email address: between the last '/' and ":generateAccessToken". */
static struct str adc_principal(struct str url)
{
    size_t end = str_find(url, ":generateAccessToken");
    size_t start = url.len;
    while (start > 0 && url.ptr[start - 1] != '/') {
        start--;
    }
    return end == SIZE_MAX || start == 0 ? STR("") : str_sub(url, start, end);
}

static void adc_read_impersonation(struct adc_reader *reader, const json_t *json,
                                   struct adc_file *file)
{
    const json_t *options = json_object_get(json, "service_account_impersonation");
    const json_t *seconds = json_object_get(options, "token_lifetime_seconds");
    file->impersonation_url = adc_url(reader, json, "service_account_impersonation_url");
    file->principal = adc_principal(file->impersonation_url);
    if (file->principal.len == 0) {
        adc_fail(reader, "service_account_impersonation_url", "does not name a service account");
    }
    file->lifetime = STR("3600");
    if (json_is_integer(seconds) && json_integer_value(seconds) > 0) {
        file->lifetime = arena_printf(reader->arena, "%lld",
                                      (long long)json_integer_value(seconds));
    } else if (seconds && !json_is_null(seconds) &&
               !(json_is_integer(seconds) && json_integer_value(seconds) == 0)) {
        adc_fail(reader, "token_lifetime_seconds", "is not a positive number");
    }
}

/* ---- users and service accounts ---- */

/* "2026-11-15T08:15:57.123456Z", always UTC. */
static void adc_read_token(struct adc_reader *reader, const json_t *json, struct adc_file *file)
{
    struct str expiry = adc_text(reader, json, "expiry", OPTIONAL);
    file->token = adc_text(reader, json, "token", OPTIONAL);
    if (expiry.len == 0) {
        file->token = STR("");
    } else if (!aws_time_parse(expiry, &file->expires_at)) {
        adc_fail(reader, "expiry", "is not a time");
    }
}

static void adc_read_user(struct adc_reader *reader, const json_t *json, struct adc_file *file)
{
    file->token_url = STR(ADC_TOKEN_URL); /* as in google-auth: one in the file is ignored */
    file->client_id = adc_text(reader, json, "client_id", REQUIRED);
    file->client_secret = adc_text(reader, json, "client_secret", REQUIRED);
    file->refresh_token = adc_text(reader, json, "refresh_token", REQUIRED);
    file->rapt_token = adc_text(reader, json, "rapt_token", OPTIONAL);
    file->scopes = adc_texts(reader, json, "scopes");
    file->quota_project = adc_text(reader, json, "quota_project_id", OPTIONAL);
    adc_read_token(reader, json, file);
}

static void adc_read_external_user(struct adc_reader *reader, const json_t *json,
                                   struct adc_file *file)
{
    file->token_url = adc_url(reader, json, "token_url");
    file->client_id = adc_text(reader, json, "client_id", REQUIRED);
    file->client_secret = adc_text(reader, json, "client_secret", REQUIRED);
    file->refresh_token = adc_text(reader, json, "refresh_token", REQUIRED);
    file->quota_project = adc_text(reader, json, "quota_project_id", OPTIONAL);
    adc_read_token(reader, json, file);
}

static void adc_read_service_account(struct adc_reader *reader, const json_t *json,
                                     struct adc_file *file)
{
    const json_t *universe = json_object_get(json, "universe_domain");
    file->email = adc_text(reader, json, "client_email", REQUIRED);
    file->private_key = adc_text(reader, json, "private_key", MULTILINE);
    file->key_id = adc_text(reader, json, "private_key_id", OPTIONAL);
    file->has_key_id = adc_has(json, "private_key_id");
    file->token_url = adc_url(reader, json, "token_uri");
    file->project = adc_text(reader, json, "project_id", OPTIONAL);
    file->is_self_signed = universe && !(json_is_string(universe) &&
                                         strcmp(json_string_value(universe), ADC_UNIVERSE) == 0);
}

/* ---- external accounts ---- */

static void adc_read_headers(struct adc_reader *reader, const json_t *json,
                             struct adc_subject *subject)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_t *headers = json_object_get(json, "headers");
    if (json_object_size(headers) > ADC_HEADERS_MAX) {
        adc_fail(reader, "headers", "has more than 8 entries");
        return;
    }
    json_object_foreach(headers, name, value)
    {
        subject->headers[subject->header_count++] = (struct adc_header){
            arena_str(reader->arena, str_from(name)),
            adc_value_text(reader, value, "a value of headers", OPTIONAL)};
        if (adc_text_fault(str_from(name), REQUIRED)) {
            adc_fail(reader, "headers", "has an invalid name");
        }
    }
}

static void adc_read_pool(struct adc_reader *reader, const json_t *json,
                          struct adc_subject *subject)
{
    const json_t *format = json_object_get(json, "format");
    struct str form = adc_text(reader, format, "type", OPTIONAL);
    bool is_file = adc_has(json, "file");
    if (adc_has(json, "certificate")) {
        adc_fail(reader, "credential_source.certificate", "is not supported (X.509 certificates)");
    } else if (json_object_get(json, "environment_id") || is_file == adc_has(json, "url")) {
        adc_fail(reader, "credential_source", "needs one of file, url and executable");
    }
    subject->kind = is_file ? SUBJECT_FILE : SUBJECT_URL;
    subject->place = adc_text(reader, json, is_file ? "file" : "url", REQUIRED);
    if (!is_file && !str_starts(subject->place, "http://") &&
        !str_starts(subject->place, "https://")) {
        adc_fail(reader, "credential_source.url", "is not a URL");
    }
    if (str_is(form, "json")) {
        subject->field = adc_text(reader, format, "subject_token_field_name", REQUIRED);
    } else if (form.len > 0 && !str_is(form, "text")) {
        adc_fail(reader, "credential_source.format.type", "is neither text nor json");
    }
    adc_read_headers(reader, json, subject);
}

static void adc_read_program(struct adc_reader *reader, const json_t *json,
                             struct adc_subject *subject)
{
    const json_t *program = json_object_get(json, "executable");
    const json_t *timeout = json_object_get(program, "timeout_millis");
    subject->kind = SUBJECT_PROGRAM;
    subject->place = adc_text(reader, program, "command", REQUIRED);
    subject->output_path = adc_text(reader, program, "output_file", OPTIONAL);
    subject->timeout_ms = json_is_integer(timeout) ? json_integer_value(timeout) : 0;
    if (subject->timeout_ms == 0) {
        subject->timeout_ms = PROGRAM_MS;
    }
    if (subject->timeout_ms < PROGRAM_LEAST_MS || subject->timeout_ms > PROGRAM_MOST_MS) {
        adc_fail(reader, "timeout_millis", "is not between 5000 and 120000");
    }
}

static void adc_read_aws(struct adc_reader *reader, const json_t *json, struct adc_subject *subject)
{
    subject->kind = SUBJECT_AWS;
    subject->place = adc_text(reader, json, "url", OPTIONAL);
    subject->region_url = adc_text(reader, json, "region_url", OPTIONAL);
    subject->session_url = adc_text(reader, json, "imdsv2_session_token_url", OPTIONAL);
    subject->verify_url = adc_text(reader, json, "regional_cred_verification_url", REQUIRED);
    if (!str_starts(subject->verify_url, "https://")) {
        adc_fail(reader, "regional_cred_verification_url", "is not an https URL");
    }
    if (!str_is(adc_text(reader, json, "environment_id", OPTIONAL), "aws1")) {
        adc_fail(reader, "environment_id", "is not aws1, the only supported version");
    }
}

/* "//iam.googleapis.com/locations/.../workforcePools/...": people, not programs. */
static bool adc_is_workforce(struct str audience)
{
    static const char start[] = "//iam.googleapis.com/locations/";
    struct str rest = str_sub(audience, strlen(start), audience.len);
    return str_starts(audience, start) && str_cut(&rest, '/').len > 0 &&
           str_starts(rest, "workforcePools/");
}

static void adc_read_external(struct adc_reader *reader, const json_t *json, struct adc_file *file)
{
    const json_t *source = json_object_get(json, "credential_source");
    file->audience = adc_text(reader, json, "audience", REQUIRED);
    file->subject_type = adc_text(reader, json, "subject_token_type", REQUIRED);
    file->client_id = adc_text(reader, json, "client_id", OPTIONAL);
    file->client_secret = adc_text(reader, json, "client_secret", OPTIONAL);
    file->quota_project = adc_text(reader, json, "quota_project_id", OPTIONAL);
    file->user_project = adc_text(reader, json, "workforce_pool_user_project", OPTIONAL);
    file->token_url = adc_text(reader, json, "token_url", REQUIRED);
    if (str_is(file->token_url, "https://sts.{universe_domain}/v1/token")) {
        file->token_url = arena_printf(reader->arena, "https://sts.%.*s/v1/token",
                                       STR_ARG(file->universe));
    }
    if (!adc_is_safe_url(file->token_url)) {
        adc_fail(reader, "token_url", "is not an https URL");
    }
    if (file->user_project.len > 0 && !adc_is_workforce(file->audience)) {
        adc_fail(reader, "workforce_pool_user_project", "is only for a workforce pool");
    }
    if (!json_is_object(source)) {
        adc_fail(reader, "credential_source", "is missing or not an object");
    } else if (str_is(file->subject_type, ADC_AWS_SUBJECT)) {
        adc_read_aws(reader, source, &file->subject);
    } else if (adc_has(source, "executable")) {
        adc_read_program(reader, source, &file->subject);
    } else {
        adc_read_pool(reader, source, &file->subject);
    }
    if (adc_has(json, "service_account_impersonation_url")) {
        adc_read_impersonation(reader, json, file);
    }
}

struct str adc_project_number(const struct adc_file *file)
{
    struct str rest = file->audience;
    struct str number = file->user_project;
    while (rest.len > 0) {
        if (str_is(str_cut(&rest, '/'), "projects")) {
            struct str next = str_cut(&rest, '/');
            number = next.len > 0 ? next : number;
            break;
        }
    }
    return adc_is_domain(number) ? number : STR(""); /* letters, digits, '.' and '-' */
}

/* ---- a file ---- */

static void adc_read_impersonated(struct adc_reader *reader, const json_t *json,
                                  struct adc_file *file);

static bool adc_read_type(struct adc_reader *reader, const json_t *json, struct adc_file *file)
{
    static void (*const readers[ADC_TYPE_COUNT])(struct adc_reader *, const json_t *,
                                                 struct adc_file *) = {
        [ADC_USER] = adc_read_user,
        [ADC_SERVICE_ACCOUNT] = adc_read_service_account,
        [ADC_EXTERNAL] = adc_read_external,
        [ADC_EXTERNAL_USER] = adc_read_external_user,
        [ADC_IMPERSONATED] = adc_read_impersonated,
    };
    struct str name = adc_text(reader, json, "type", REQUIRED);
    enum adc_type type = 0;
    while (type < ADC_TYPE_COUNT && !str_is(name, adc_type_name(type))) {
        type++;
    }
    if (!reader->is_ok) {
        return false;
    }
    if (str_is(name, "gdch_service_account")) {
        return err_set(reader->err, ERR_AUTH,
                       "the type gdch_service_account is for Google Distributed Cloud, which has "
                       "no Compute Engine API");
    }
    if (type == ADC_TYPE_COUNT) {
        return err_set(reader->err, ERR_AUTH, "the type \"%.*s\" is not supported",
                       STR_ARG(str_sub(name, 0, TYPE_SHOWN_MAX)));
    }
    file->type = type;
    file->universe = adc_universe(reader, json);
    readers[type](reader, json, file);
    return reader->is_ok;
}

static void adc_read_impersonated(struct adc_reader *reader, const json_t *json,
                                  struct adc_file *file)
{
    const json_t *source = json_object_get(json, "source_credentials");
    struct adc_file *base = ARENA_NEW(reader->arena, struct adc_file);
    const char *type = json_string_value(json_object_get(source, "type"));
    adc_read_impersonation(reader, json, file);
    file->lifetime = STR("3600"); /* as in google-auth: only external accounts set another one */
    file->delegates = adc_texts(reader, json, "delegates");
    file->has_delegates = adc_has(json, "delegates");
    file->scopes = adc_texts(reader, json, "scopes");
    file->quota_project = adc_text(reader, json, "quota_project_id", OPTIONAL);
    if (!type || strcmp(type, adc_type_name(ADC_EXTERNAL)) == 0 ||
        strcmp(type, adc_type_name(ADC_IMPERSONATED)) == 0) {
        adc_fail(reader, "source_credentials",
                 "is not authorized_user, service_account or external_account_authorized_user");
    } else if (reader->is_ok && !adc_read_type(reader, source, base)) {
        reader->is_ok = err_wrap(reader->err, "source_credentials");
    }
    file->base = base;
    file->universe = base->universe;
}

bool adc_file_read(struct str json, struct arena *arena, struct adc_file *ret_file, struct err *err)
{
    struct adc_reader reader = {.arena = arena, .err = err, .is_ok = true};
    struct adc_file file = {0};
    json_error_t where;
    if (json.len > ADC_BYTES_MAX) {
        return err_set(err, ERR_AUTH, "the file has more than %d bytes", ADC_BYTES_MAX);
    }
    /* jansson's own message is not used because it quotes the text. */
    json_t *root = json_loadb(json.ptr, json.len, 0, &where);
    bool ok = root != NULL;
    if (!ok) {
        err_write(err, ERR_AUTH, "invalid JSON at line %d, column %d", where.line, where.column);
    } else if (!json_is_object(root)) {
        ok = err_set(err, ERR_AUTH, "the file is not a JSON object");
    } else {
        ok = adc_read_type(&reader, root, &file);
    }
    json_decref(root);
    if (ok) {
        *ret_file = file;
    }
    return ok;
}
