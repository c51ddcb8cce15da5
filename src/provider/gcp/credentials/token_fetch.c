/* token_fetch.c: finds the source, exchanges what it has for a token, impersonates, and finds the
 * project. */
#include "provider/gcp/credentials/token_fetch.h"

#include "base/encode.h"
#include "io/file.h"
#include "io/xalloc.h"
#include "provider/gcp/credentials/jwt.h"
#include "provider/gcp/credentials/token_fetch_internal.h"
#include "provider/variable.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#define SCOPE_IAM "https://www.googleapis.com/auth/iam"

#define GIVEN_NAME "provider.gcp_credentials"

enum { TRIES_MAX = 3, PAUSE_MS = 1000, RENEW_S = 225, FORM_BYTES_MAX = 1024 * 1024 };

int64_t token_fetch_now(const struct token_fetch *fetch)
{
    return clock_wall_ms(loop_clock(fetch->setup->loop)) / 1000;
}

/* ---- ending ---- */

void token_fetch_cancel(struct token_fetch *fetch)
{
    if (fetch->child) {
        child_forget(fetch->child);
    }
    asker_clear(&fetch->asker);
    loop_later_cancel(fetch->setup->loop, &fetch->start);
    secret_registry_clear(&fetch->book, fetch->setup->redact);
    arena_clear(&fetch->arena);
    free(fetch);
}

static void token_fetch_end(struct token_fetch *fetch, struct token_found *found)
{
    found->book = &fetch->book;
    found->known = fetch->known;
    fetch->done(fetch->context, found);
    token_fetch_cancel(fetch);
}

void token_fetch_finish(struct token_fetch *fetch)
{
    struct token_found found = {.is_ok = true, .access = fetch->access};
    token_fetch_end(fetch, &found);
}

void token_fetch_fail(struct token_fetch *fetch, enum err_kind kind, const char *fmt, ...)
{
    struct token_found found = {.access.source = fetch->access.source};
    char words[sizeof(found.err.text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    AUTO_BUF struct buf clean;
    buf_init(&clean, sizeof(words));
    if (fetch->setup->redact) {
        redact_clean(fetch->setup->redact, str_from(words), &clean);
    } else {
        buf_add_c(&clean, words);
    }
    err_set(&found.err, kind, "%.*s%s%.*s", STR_ARG(fetch->access.source),
            fetch->access.source.len > 0 ? ": " : "", STR_ARG(buf_str(&clean)));
    token_fetch_end(fetch, &found);
}

void token_fetch_learn(struct token_fetch *fetch, struct str secret)
{
    secret_registry_add(&fetch->book, fetch->setup->redact, secret);
}

bool token_fetch_read(struct token_fetch *fetch, struct str path, struct str *ret_text,
                      struct err *err)
{
    struct buf bytes;
    struct str full = arena_str(&fetch->arena, path);
    if (file_stat(full.ptr).kind == FILE_MISSING) {
        return err_set(err, ERR_NOT_FOUND, "the file %s does not exist", full.ptr);
    }
    buf_init(&bytes, ADC_BYTES_MAX);
    bool ok = file_read(full.ptr, &bytes, err);
    if (ok) {
        *ret_text = arena_str(&fetch->arena, buf_str(&bytes));
    }
    buf_wipe(&bytes);
    return ok;
}

/* ---- replies ---- */

static const char *token_fetch_advice(const struct token_fetch *fetch,
                                      const struct token_refusal *refusal)
{
    bool is_user = fetch->current &&
                   (fetch->current->type == ADC_USER || fetch->current->type == ADC_EXTERNAL_USER);
    if (refusal->needs_login || (is_user && str_is(refusal->code, "invalid_grant"))) {
        return "; the login has expired or was revoked: run `gcloud auth application-default "
               "login`";
    }
    if (str_is(refusal->code, "invalid_grant") && fetch->current &&
        fetch->current->type == ADC_SERVICE_ACCOUNT) {
        return "; the key was deleted, or the clock of this machine is wrong";
    }
    return "";
}

bool token_fetch_is_answer(struct token_fetch *fetch, const struct http_reply *reply,
                           const char *service)
{
    if (reply->outcome != HTTP_REPLIED) {
        token_fetch_fail(fetch, reply->err.kind, "%s", reply->err.text);
        return false;
    }
    if (reply->status == 200) {
        return true;
    }
    struct token_refusal refusal = token_refusal_read(reply->body, &fetch->arena);
    enum err_kind kind = reply->status == 429   ? ERR_THROTTLED
                         : reply->status >= 500 ? ERR_UNAVAILABLE
                                                : ERR_AUTH;
    token_fetch_fail(fetch, kind, "%s answered with HTTP status %d%s%.*s%s", service, reply->status,
                     refusal.code.len > 0 ? ": " : "", STR_ARG(refusal.code),
                     token_fetch_advice(fetch, &refusal));
    return false;
}

/* ---- forms ---- */

/* As Python's urlencode(): a blank is '+'. */
static void token_fetch_add_field(struct buf *form, const char *name, struct str value)
{
    buf_addf(form, "%s%s=", form->len > 0 ? "&" : "", name);
    for (size_t i = 0; i < value.len;) {
        size_t end = i;
        while (end < value.len && value.ptr[end] != ' ') {
            end++;
        }
        encode_uri(form, str_sub(value, i, end), "");
        if (end < value.len) {
            buf_add_char(form, '+');
            end++;
        }
        i = end;
    }
}

/* Wipes the form. */
static struct str token_fetch_keep(struct token_fetch *fetch, struct buf *form)
{
    struct str text = arena_str(&fetch->arena, buf_str(form));
    buf_wipe(form);
    return text;
}

static struct question token_fetch_post(struct str url, struct str body, const char *content_type,
                                        void (*answered)(void *, const struct http_reply *))
{
    return (struct question){
        .method = "POST",
        .url = url,
        .headers = {{STR("Content-Type"), str_from(content_type)}},
        .header_count = 1,
        .body = body,
        .answered = answered,
    };
}

static void token_fetch_add_header(struct question *question, const char *name, struct str value)
{
    question->headers[question->header_count++] = (struct http_header){str_from(name), value};
}

#define FORM_TYPE "application/x-www-form-urlencoded"

static struct str token_fetch_basic(struct token_fetch *fetch, const struct adc_file *file)
{
    struct buf text;
    struct buf out;
    buf_init(&text, FORM_BYTES_MAX);
    buf_init(&out, FORM_BYTES_MAX);
    buf_addf(&text, "%.*s:%.*s", STR_ARG(file->client_id), STR_ARG(file->client_secret));
    buf_add_c(&out, "Basic ");
    encode_base64(&out, buf_str(&text));
    buf_wipe(&text);
    return token_fetch_keep(fetch, &out);
}

/* ---- tokens of users and service accounts ---- */

static bool token_fetch_is_impersonating(const struct token_fetch *fetch)
{
    return fetch->file.impersonation_url.len > 0 && !fetch->is_impersonated;
}

/* The first token of an impersonation may only be used for that. */
static struct str token_fetch_scope(const struct token_fetch *fetch)
{
    struct str scope = fetch->setup->scope;
    return token_fetch_is_impersonating(fetch) ? STR(SCOPE_IAM)
           : scope.len > 0                     ? scope
                                               : STR(TOKEN_SCOPE_DEFAULT);
}

static void token_fetch_take_reply(struct token_fetch *fetch, const struct http_reply *reply,
                                   enum token_form form)
{
    struct token_reply token = {0};
    struct err err = {0};
    if (!token_fetch_is_answer(fetch, reply, "the token service")) {
        return;
    }
    if (!token_reply_read(reply->body, form, token_fetch_now(fetch), &fetch->arena, &token, &err)) {
        token_fetch_fail(fetch, err.kind, "invalid reply of the token service: %s", err.text);
        return;
    }
    if (token.refresh_token.len > 0) {
        token_fetch_learn(fetch, token.refresh_token);
        fetch->known.refresh_old = fetch->current->refresh_token;
        fetch->known.refresh_new = token.refresh_token;
    }
    token_fetch_take(fetch, &token);
}

static void token_fetch_on_oauth(void *context, const struct http_reply *reply)
{
    token_fetch_take_reply(context, reply, TOKEN_OAUTH);
}

static void token_fetch_on_sts(void *context, const struct http_reply *reply)
{
    token_fetch_take_reply(context, reply, TOKEN_STS);
}

static void token_fetch_on_external_user(void *context, const struct http_reply *reply)
{
    token_fetch_take_reply(context, reply, TOKEN_METADATA);
}

static struct str token_fetch_refresh_token(const struct token_fetch *fetch)
{
    struct str own = fetch->current->refresh_token;
    return fetch->known.refresh_new.len > 0 && str_eq(own, fetch->known.refresh_old)
               ? fetch->known.refresh_new
               : own;
}

static struct str token_fetch_join(struct token_fetch *fetch, const struct adc_list *list)
{
    AUTO_BUF struct buf out;
    buf_init(&out, FORM_BYTES_MAX);
    for (size_t i = 0; i < list->count; i++) {
        buf_addf(&out, "%s%.*s", i > 0 ? " " : "", STR_ARG(list->items[i]));
    }
    return arena_str(&fetch->arena, buf_str(&out));
}

static void token_fetch_from_user(struct token_fetch *fetch)
{
    const struct adc_file *file = fetch->current;
    struct buf form;
    if (!str_is(file->universe, ADC_UNIVERSE)) {
        token_fetch_fail(fetch, ERR_AUTH, "a user's login works only for googleapis.com");
        return;
    }
    buf_init(&form, FORM_BYTES_MAX);
    token_fetch_add_field(&form, "grant_type", STR("refresh_token"));
    token_fetch_add_field(&form, "client_id", file->client_id);
    token_fetch_add_field(&form, "client_secret", file->client_secret);
    token_fetch_add_field(&form, "refresh_token", token_fetch_refresh_token(fetch));
    if (file->scopes.count > 0) {
        token_fetch_add_field(&form, "scope", token_fetch_join(fetch, &file->scopes));
    }
    if (file->rapt_token.len > 0) {
        token_fetch_add_field(&form, "rapt", file->rapt_token);
    }
    struct question question = token_fetch_post(file->token_url, token_fetch_keep(fetch, &form),
                                                FORM_TYPE, token_fetch_on_oauth);
    question.tries_max = TRIES_MAX;
    question.reads_refusal = true;
    asker_ask(&fetch->asker, &question);
}

static void token_fetch_from_external_user(struct token_fetch *fetch)
{
    const struct adc_file *file = fetch->current;
    struct buf form;
    buf_init(&form, FORM_BYTES_MAX);
    token_fetch_add_field(&form, "grant_type", STR("refresh_token"));
    token_fetch_add_field(&form, "refresh_token", token_fetch_refresh_token(fetch));
    struct question question = token_fetch_post(file->token_url, token_fetch_keep(fetch, &form),
                                                FORM_TYPE, token_fetch_on_external_user);
    token_fetch_add_header(&question, "Authorization", token_fetch_basic(fetch, file));
    asker_ask(&fetch->asker, &question);
}

static void token_fetch_from_service_account(struct token_fetch *fetch)
{
    const struct adc_file *file = fetch->current;
    struct jwt_request request = {.pem = file->private_key,
                                  .key_id = file->key_id,
                                  .has_key_id = file->has_key_id,
                                  .email = file->email,
                                  .scope = token_fetch_scope(fetch),
                                  .now = token_fetch_now(fetch)};
    struct token_reply token = {.expires_at = request.now + JWT_LIFE_S};
    struct err err = {0};
    struct buf form;
    bool ok = file->is_self_signed ? jwt_self_signed(&request, &fetch->arena, &token.token, &err)
                                   : jwt_assertion(&request, &fetch->arena, &token.token, &err);
    if (!ok) {
        token_fetch_fail(fetch, err.kind, "%s", err.text);
        return;
    }
    if (file->is_self_signed) {
        token_fetch_take(fetch, &token);
        return;
    }
    token_fetch_learn(fetch, token.token);
    buf_init(&form, FORM_BYTES_MAX);
    token_fetch_add_field(&form, "assertion", token.token);
    token_fetch_add_field(&form, "grant_type", STR("urn:ietf:params:oauth:grant-type:jwt-bearer"));
    struct question question = token_fetch_post(file->token_url, token_fetch_keep(fetch, &form),
                                                FORM_TYPE, token_fetch_on_oauth);
    question.tries_max = TRIES_MAX;
    question.reads_refusal = true;
    asker_ask(&fetch->asker, &question);
}

/* ---- tokens of external identities ---- */

static struct str token_fetch_options(struct token_fetch *fetch)
{
    AUTO_BUF struct buf out;
    json_t *json = json_pack("{s:s%}", "userProject", fetch->file.user_project.ptr,
                             fetch->file.user_project.len);
    char *text = json ? json_dumps(json, JSON_ENSURE_ASCII) : NULL;
    buf_init(&out, FORM_BYTES_MAX);
    encode_uri(&out, str_from(text), "/");
    free(text);
    json_decref(json);
    return arena_str(&fetch->arena, buf_str(&out));
}

void token_fetch_exchange(struct token_fetch *fetch, struct str subject)
{
    const struct adc_file *file = &fetch->file;
    struct buf form;
    token_fetch_learn(fetch, subject);
    buf_init(&form, FORM_BYTES_MAX);
    token_fetch_add_field(&form, "grant_type",
                          STR("urn:ietf:params:oauth:grant-type:token-exchange"));
    token_fetch_add_field(&form, "audience", file->audience);
    token_fetch_add_field(&form, "scope", token_fetch_scope(fetch));
    token_fetch_add_field(&form, "requested_token_type",
                          STR("urn:ietf:params:oauth:token-type:access_token"));
    token_fetch_add_field(&form, "subject_token", subject);
    token_fetch_add_field(&form, "subject_token_type", file->subject_type);
    if (file->user_project.len > 0 && file->client_id.len == 0) {
        token_fetch_add_field(&form, "options", token_fetch_options(fetch));
    }
    if (form.is_full) {
        buf_wipe(&form);
        token_fetch_fail(fetch, ERR_AUTH, "the identity's token is too long");
        return;
    }
    struct question question = token_fetch_post(file->token_url, token_fetch_keep(fetch, &form),
                                                FORM_TYPE, token_fetch_on_sts);
    question.tries_max = TRIES_MAX;
    if (file->client_id.len > 0) {
        token_fetch_add_header(&question, "Authorization", token_fetch_basic(fetch, file));
    }
    asker_ask(&fetch->asker, &question);
}

/* ---- impersonation ---- */

static void token_fetch_on_iam(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    struct token_reply token = {0};
    struct err err = {0};
    if (!token_fetch_is_answer(fetch, reply, "IAM's generateAccessToken")) {
        return;
    }
    if (!token_reply_read(reply->body, TOKEN_IAM, token_fetch_now(fetch), &fetch->arena, &token,
                          &err)) {
        token_fetch_fail(fetch, err.kind, "invalid reply of generateAccessToken: %s", err.text);
        return;
    }
    token_fetch_take(fetch, &token);
}

static json_t *token_fetch_json_list(const struct adc_list *list)
{
    json_t *json = json_array();
    for (size_t i = 0; i < list->count; i++) {
        json_array_append_new(json, json_stringn(list->items[i].ptr, list->items[i].len));
    }
    return json;
}

static struct str token_fetch_iam_body(struct token_fetch *fetch)
{
    const struct adc_file *file = &fetch->file;
    struct str scope = token_fetch_scope(fetch);
    struct adc_list scopes = file->scopes.count > 0 ? file->scopes : (struct adc_list){&scope, 1};
    json_t *json = json_pack(
        "{s:o, s:o, s:o}", "delegates",
        file->has_delegates ? token_fetch_json_list(&file->delegates) : json_null(), "scope",
        token_fetch_json_list(&scopes), "lifetime", json_sprintf("%.*ss", STR_ARG(file->lifetime)));
    char *text = json ? json_dumps(json, JSON_ENSURE_ASCII) : NULL;
    struct str body = arena_str(&fetch->arena, str_from(text));
    free(text);
    json_decref(json);
    return body;
}

static void token_fetch_impersonate(struct token_fetch *fetch, struct str token)
{
    const struct adc_file *file = &fetch->file;
    bool is_external = file->type == ADC_EXTERNAL;
    struct str quota = is_external ? fetch->access.quota_project : fetch->current->quota_project;
    struct str url = is_external ? file->impersonation_url
                                 : arena_printf(&fetch->arena,
                                                "https://iamcredentials.%.*s/v1/projects/-/"
                                                "serviceAccounts/%.*s:generateAccessToken",
                                                STR_ARG(file->universe), STR_ARG(file->principal));
    token_fetch_learn(fetch, token);
    fetch->is_impersonated = true;
    struct question question = token_fetch_post(url, token_fetch_iam_body(fetch),
                                                "application/json", token_fetch_on_iam);
    question.tries_max = TRIES_MAX;
    token_fetch_add_header(&question, "Authorization",
                           arena_printf(&fetch->arena, "Bearer %.*s", STR_ARG(token)));
    if (quota.len > 0) {
        token_fetch_add_header(&question, "x-goog-user-project", quota);
    }
    asker_ask(&fetch->asker, &question);
}

/* ---- the project ---- */

static void token_fetch_on_project(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    struct err err = {0};
    struct str project = STR("");
    if (reply->outcome != HTTP_REPLIED || reply->status != 200 ||
        !token_field_read(reply->body, STR("projectId"), &fetch->arena, &project, &err)) {
        log_write(fetch->setup->log, LOG_LEVEL_WARNING,
                  "cannot look up the project of the external identity status=%d", reply->status);
    }
    fetch->known.project = fetch->access.project = project;
    token_fetch_finish(fetch);
}

static void token_fetch_ask_project(struct token_fetch *fetch, struct str number)
{
    struct question question = {
        .url = arena_printf(&fetch->arena, "https://cloudresourcemanager.%.*s/v1/projects/%.*s",
                            STR_ARG(fetch->file.universe), STR_ARG(number)),
        .answered = token_fetch_on_project};
    token_fetch_add_header(
        &question, "Authorization",
        arena_printf(&fetch->arena, "Bearer %.*s", STR_ARG(fetch->access.token)));
    if (fetch->access.quota_project.len > 0) {
        token_fetch_add_header(&question, "x-goog-user-project", fetch->access.quota_project);
    }
    asker_ask(&fetch->asker, &question);
}

/* A file that cannot be read is as good as none. */
static struct str token_fetch_gcloud_file(struct token_fetch *fetch, struct str path)
{
    struct err err = {0};
    struct str text = STR("");
    struct str full = arena_printf(&fetch->arena, "%.*s/%.*s", STR_ARG(fetch->search.folder),
                                   STR_ARG(path));
    return path.len > 0 && token_fetch_read(fetch, full, &text, &err) ? text : STR("");
}

static struct str token_fetch_gcloud_project(struct token_fetch *fetch)
{
    const char *const *env = fetch->setup->environ;
    const char *set = variable_get(env, "CLOUDSDK_CORE_PROJECT");
    if (set) {
        return str_from(set);
    }
    struct str active = token_fetch_gcloud_file(fetch, adc_gcloud_active_path());
    struct str path = adc_gcloud_config_path(env, active, &fetch->arena);
    return adc_gcloud_project(token_fetch_gcloud_file(fetch, path));
}

static void token_fetch_find_project(struct token_fetch *fetch)
{
    struct gcp_access *access = &fetch->access;
    struct str number = adc_project_number(&fetch->file);
    access->project = fetch->search.project;
    if (access->project.len == 0) {
        access->project = fetch->file.project;
    }
    if (access->project.len == 0 && fetch->is_gcloud) {
        access->project = token_fetch_gcloud_project(fetch);
    }
    if (access->project.len == 0) {
        access->project = fetch->known.project;
    }
    if (access->project.len == 0 && number.len > 0) {
        token_fetch_ask_project(fetch, number);
        return;
    }
    token_fetch_finish(fetch);
}

void token_fetch_take(struct token_fetch *fetch, const struct token_reply *reply)
{
    if (token_fetch_is_impersonating(fetch)) {
        token_fetch_impersonate(fetch, reply->token);
        return;
    }
    token_fetch_learn(fetch, reply->token);
    fetch->access.token = reply->token;
    fetch->access.expires_at = reply->expires_at;
    if (fetch->current) {
        token_fetch_find_project(fetch);
    }
}

/* ---- starting ---- */

/* A broken key is reported before anything is asked. */
static bool token_fetch_check_key(const struct adc_file *file, struct err *err)
{
    return file->type != ADC_SERVICE_ACCOUNT || jwt_check_key(file->private_key, err);
}

static void token_fetch_learn_file(struct token_fetch *fetch, const struct adc_file *file)
{
    token_fetch_learn(fetch, file->client_secret);
    token_fetch_learn(fetch, file->refresh_token);
    token_fetch_learn(fetch, file->rapt_token);
    token_fetch_learn(fetch, file->token);
    token_fetch_learn(fetch, file->private_key);
    for (size_t i = 0; i < file->subject.header_count; i++) {
        token_fetch_learn(fetch, file->subject.headers[i].value);
    }
}

static void token_fetch_from_file(struct token_fetch *fetch)
{
    static void (*const ways[ADC_TYPE_COUNT])(struct token_fetch *) = {
        [ADC_USER] = token_fetch_from_user,
        [ADC_SERVICE_ACCOUNT] = token_fetch_from_service_account,
        [ADC_EXTERNAL] = token_fetch_from_subject,
        [ADC_EXTERNAL_USER] = token_fetch_from_external_user,
    };
    const struct adc_file *file = fetch->current;
    bool is_rejected = fetch->known.is_file_token_rejected &&
                       str_eq(file->token, fetch->known.file_token);
    if (file->token.len > 0 && file->expires_at - token_fetch_now(fetch) > RENEW_S &&
        !is_rejected && token_is_sendable(file->token)) {
        fetch->known.file_token = file->token;
        fetch->known.is_file_token_rejected = false;
        struct token_reply token = {.token = file->token, .expires_at = file->expires_at};
        token_fetch_take(fetch, &token);
        return;
    }
    ways[file->type](fetch);
}

/* `name` is the path, or the key of the cluster file. */
static void token_fetch_parse(struct token_fetch *fetch, struct str text, struct str name)
{
    struct err err = {0};
    fetch->access.source = name;
    if (!adc_file_read(text, &fetch->arena, &fetch->file, &err)) {
        token_fetch_fail(fetch, err.kind, "%s", err.text);
        return;
    }
    fetch->current = fetch->file.base ? fetch->file.base : &fetch->file;
    token_fetch_learn_file(fetch, fetch->current);
    if (!token_fetch_check_key(fetch->current, &err)) {
        token_fetch_fail(fetch, err.kind, "%s", err.text);
        return;
    }
    fetch->access.source = arena_printf(&fetch->arena, "%s %.*s", adc_type_name(fetch->file.type),
                                        STR_ARG(name));
    fetch->access.universe = fetch->file.universe;
    fetch->access.quota_project = fetch->search.quota_project.len > 0 ? fetch->search.quota_project
                                                                      : fetch->file.quota_project;
    token_fetch_from_file(fetch);
}

static void token_fetch_load(struct token_fetch *fetch, struct str path)
{
    struct err err = {0};
    struct str text;
    if (!token_fetch_read(fetch, path, &text, &err)) {
        token_fetch_fail(fetch, ERR_AUTH, "cannot read the Google credentials: %s%s", err.text,
                         fetch->is_gcloud ? "" : " (GOOGLE_APPLICATION_CREDENTIALS)");
        return;
    }
    token_fetch_parse(fetch, text, path);
}

/* It cannot be refreshed: Google refuses it when it has expired. */
static void token_fetch_use_given(struct token_fetch *fetch)
{
    struct token_reply token = {.token = fetch->setup->given_token, .expires_at = INT64_MAX};
    fetch->access.source = STR(GIVEN_NAME);
    if (!token_is_sendable(token.token)) {
        token_fetch_fail(fetch, ERR_AUTH, "the token contains characters that cannot be sent");
        return;
    }
    fetch->current = &fetch->file;
    fetch->file.universe = fetch->access.universe = STR(ADC_UNIVERSE);
    fetch->access.quota_project = fetch->search.quota_project;
    token_fetch_take(fetch, &token);
}

/* Reads the files each time, because users log in again while a program runs. */
static void token_fetch_do_start(void *context)
{
    struct token_fetch *fetch = context;
    struct adc_search *search = &fetch->search;
    adc_search_plan(fetch->setup->environ, &fetch->arena, search);
    bool is_named = search->named_path.len > 0 && !str_eq(search->named_path, search->gcloud_path);
    if (fetch->setup->given_token.len > 0) {
        token_fetch_use_given(fetch);
    } else if (fetch->setup->given_key.len > 0) {
        token_fetch_parse(fetch, arena_str(&fetch->arena, fetch->setup->given_key),
                          STR(GIVEN_NAME));
    } else if (is_named) {
        token_fetch_load(fetch, search->named_path);
    } else if (file_stat(search->gcloud_path.ptr).kind == FILE_REGULAR) {
        fetch->is_gcloud = true;
        token_fetch_load(fetch, search->gcloud_path);
    } else if (search->has_metadata) {
        token_fetch_from_metadata(fetch);
    } else {
        token_fetch_fail(fetch, ERR_AUTH,
                         "no Google credentials found: GOOGLE_APPLICATION_CREDENTIALS is not set, "
                         "%.*s does not exist, and NO_GCE_CHECK disables the metadata server; run "
                         "`gcloud auth application-default login`",
                         STR_ARG(search->gcloud_path));
    }
}

static struct str token_fetch_copy(struct token_fetch *fetch, struct str text)
{
    return arena_str(&fetch->arena, text);
}

struct token_fetch *token_fetch_start(const struct gcp_setup *setup,
                                      const struct token_known *known, token_found_fn *done,
                                      void *context)
{
    struct token_fetch *fetch = HEAP_NEW(struct token_fetch);
    fetch->setup = setup;
    arena_init_secret(&fetch->arena);
    secret_registry_init(&fetch->book);
    fetch->known = (struct token_known){
        .is_metadata = known->is_metadata,
        .project = token_fetch_copy(fetch, known->project),
        .universe = token_fetch_copy(fetch, known->universe),
        .refresh_old = token_fetch_copy(fetch, known->refresh_old),
        .refresh_new = token_fetch_copy(fetch, known->refresh_new),
        .file_token = token_fetch_copy(fetch, known->file_token),
        .is_file_token_rejected = known->is_file_token_rejected,
    };
    token_fetch_learn(fetch, fetch->known.refresh_new);
    asker_init(&fetch->asker, setup->http, setup->pause_ms > 0 ? setup->pause_ms : PAUSE_MS, fetch);
    fetch->done = done;
    fetch->context = context;
    fetch->start = (struct loop_task){.run = token_fetch_do_start, .context = fetch};
    loop_defer(setup->loop, &fetch->start);
    return fetch;
}
