/* credentials_fetch.c: fetches keys: selects the source, then assumes roles one after the other. */
#include "io/file.h"
#include "provider/aws/client/credentials_internal.h"
#include "provider/aws/wire/sts_reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { STS_MS = 30 * 1000, SECRET_FILE_MAX = 256 * 1024 };

/* ---- finishing ---- */

static void fetch_free(struct credentials_fetch *fetch)
{
    if (fetch->call) {
        aws_call_cancel(fetch->call);
    }
    if (fetch->http) {
        http_forget(fetch->http);
    }
    if (fetch->child) {
        child_forget(fetch->child);
    }
    loop_later_cancel(fetch->client->setup.loop, &fetch->start);
    secret_registry_clear(&fetch->book, fetch->client->setup.redact);
    arena_clear(&fetch->arena);
    free(fetch);
}

void credentials_fetch_cancel(struct credentials_fetch *fetch)
{
    fetch_free(fetch);
}

static void credentials_fetch_finish(struct credentials_fetch *fetch,
                                     struct credentials_found *found)
{
    found->book = &fetch->book;
    fetch->done(fetch->context, found);
    fetch_free(fetch);
}

void fetch_fail(struct credentials_fetch *fetch, enum err_kind kind, const char *fmt, ...)
{
    struct credentials_found found = {
        .source = fetch->name, .plan = &fetch->plan, .decider = fetch->decider};
    char words[sizeof(found.err.text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    AUTO_BUF struct buf clean;
    buf_init(&clean, sizeof(words));
    if (fetch->client->setup.redact) {
        redact_clean(fetch->client->setup.redact, str_from(words), &clean);
    } else {
        buf_add_c(&clean, words);
    }
    err_set(&found.err, kind, "%.*s%s%s", STR_ARG(fetch->name), fetch->name.len > 0 ? ": " : "",
            clean.ptr ? clean.ptr : "");
    credentials_fetch_finish(fetch, &found);
}

void fetch_learn(struct credentials_fetch *fetch, struct str secret)
{
    secret_registry_add(&fetch->book, fetch->client->setup.redact, secret);
}

bool fetch_read_file(struct credentials_fetch *fetch, struct str path, struct str *ret_text)
{
    struct buf bytes;
    struct err err = {0};
    struct str full = aws_client_expand(fetch->client->setup.environ, path, &fetch->arena);
    buf_init(&bytes, SECRET_FILE_MAX);
    bool ok = file_read(full.ptr, &bytes, &err);
    if (ok) {
        *ret_text = arena_str(&fetch->arena, str_trim(buf_str(&bytes)));
    }
    buf_wipe(&bytes);
    if (!ok) {
        fetch_fail(fetch, ERR_AUTH, "%s", err.text);
    }
    return ok;
}

/* ---- roles ---- */

static struct str session_name(struct credentials_fetch *fetch, struct str wanted)
{
    return wanted.len > 0
               ? wanted
               : arena_printf(&fetch->arena, "shoal-%" PRId64, aws_client_now(fetch->client));
}

static void on_sts(void *context, const struct aws_reply *reply)
{
    struct credentials_fetch *fetch = context;
    struct aws_credentials keys = {0};
    struct err err = {0};
    fetch->call = NULL;
    if (!reply->is_ok) {
        fetch_fail(fetch, reply->err.kind, "%s", reply->err.text);
    } else if (!sts_credentials_read(reply->body, &fetch->arena, &keys, &err)) {
        fetch_fail(fetch, err.kind, "invalid response from STS: %s", err.text);
    } else {
        fetch_take_keys(fetch, &keys);
    }
}

/* Assuming a role has no lasting effect, so it may be retried. */
static void ask_sts(struct credentials_fetch *fetch, const char *action, const struct param *input,
                    const struct aws_credentials *keys)
{
    struct aws_call_way way = {.auth = keys ? AUTH_KEYS : AUTH_NONE, .keys = keys};
    struct aws_request request = {.service = AWS_STS,
                                  .action = action,
                                  .input = input,
                                  .care = AWS_READ,
                                  .deadline_ms = STS_MS,
                                  .done = on_sts,
                                  .context = fetch};
    fetch->call = aws_call_start_way(fetch->client, &request, &way);
}

static void fetch_from_role(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    struct arena *arena = &fetch->arena;
    if (source->role.mfa_serial.len > 0) {
        fetch_fail(fetch, ERR_AUTH,
                   "the role needs an MFA code, which Shoal cannot ask for; run `eval \"$(aws "
                   "configure export-credentials --profile %.*s --format env)\"` and repeat the "
                   "command without a profile",
                   STR_ARG(source->profile));
        return;
    }
    struct param *input = param_new_map(arena);
    param_add_text(input, "RoleArn", source->role.arn, arena);
    param_add_text(input, "RoleSessionName", session_name(fetch, source->role.session_name), arena);
    if (source->role.external_id.len > 0) {
        param_add_text(input, "ExternalId", source->role.external_id, arena);
    }
    if (source->role.duration_s > 0) {
        param_add_number(input, "DurationSeconds", source->role.duration_s, arena);
    }
    ask_sts(fetch, "AssumeRole", input, &fetch->keys);
}

static void fetch_from_web_identity(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    struct arena *arena = &fetch->arena;
    struct str token;
    if (!fetch_read_file(fetch, source->web.token_path, &token)) {
        return;
    }
    fetch_learn(fetch, token);
    struct param *input = param_new_map(arena);
    param_add_text(input, "RoleArn", source->web.arn, arena);
    param_add_text(input, "RoleSessionName", session_name(fetch, source->web.session_name), arena);
    param_add_text(input, "WebIdentityToken", token, arena);
    ask_sts(fetch, "AssumeRoleWithWebIdentity", input, NULL);
}

/* ---- sources ---- */

static void fetch_from_keys(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    struct aws_credentials keys = {.access_key = source->keys.access_key,
                                   .secret_key = source->keys.secret_key,
                                   .session_token = source->keys.session_token,
                                   .account_id = STR(""),
                                   .expires_at = source->keys.expires_at};
    fetch_take_keys(fetch, &keys);
}

static void ask_next(struct credentials_fetch *fetch)
{
    static void (*const ways[SOURCE_KIND_COUNT])(struct credentials_fetch *) = {
        [SOURCE_ENVIRONMENT] = fetch_from_keys,
        [SOURCE_ASSUME_ROLE] = fetch_from_role,
        [SOURCE_WEB_IDENTITY] = fetch_from_web_identity,
        [SOURCE_SSO] = fetch_from_sso,
        [SOURCE_SHARED_FILE] = fetch_from_keys,
        [SOURCE_PROCESS] = fetch_from_process,
        [SOURCE_CONFIG_FILE] = fetch_from_keys,
        [SOURCE_CONTAINER] = fetch_from_container,
        [SOURCE_IMDS] = fetch_from_imds,
    };
    fetch->source = fetch->chain[--fetch->chain_count];
    fetch->tries = 0;
    ways[fetch->source->kind](fetch);
}

/* Keys are sent in headers; those from files have not been checked yet. */
static bool is_sendable(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return true;
}

void fetch_take_keys(struct credentials_fetch *fetch, const struct aws_credentials *keys)
{
    if (!is_sendable(keys->access_key) || !is_sendable(keys->secret_key) ||
        !is_sendable(keys->session_token)) {
        fetch_fail(fetch, ERR_AUTH, "the keys contain an invalid character");
        return;
    }
    fetch_learn(fetch, keys->secret_key);
    fetch_learn(fetch, keys->session_token);
    fetch->keys = *keys;
    if (fetch->chain_count > 0) {
        ask_next(fetch);
        return;
    }
    struct credentials_found found = {.is_ok = true,
                                      .keys = *keys,
                                      .source = fetch->name,
                                      .plan = &fetch->plan,
                                      .decider = fetch->decider};
    credentials_fetch_finish(fetch, &found);
}

/* ---- starting ---- */

static struct str credentials_fetch_describe(struct credentials_fetch *fetch,
                                             const struct aws_source *source)
{
    const char *kind = aws_source_name(source->kind);
    return source->profile.len > 0
               ? arena_printf(&fetch->arena, "profile %.*s: %s", STR_ARG(source->profile), kind)
               : str_from(kind);
}

/* Reads the files each time, because users may renew keys there by hand. */
static void credentials_fetch_do_start(void *context)
{
    struct credentials_fetch *fetch = context;
    struct err err = {0};
    if (!aws_client_load_profiles(&fetch->client->setup, &fetch->arena, &fetch->profiles, &err)) {
        struct credentials_found found = {.decider = SOURCE_KIND_COUNT, .err = err};
        credentials_fetch_finish(fetch, &found);
        return;
    }
    aws_source_plan(&fetch->profiles, &fetch->arena, &fetch->plan);
    size_t decider = 0;
    while (decider < SOURCE_KIND_COUNT && fetch->plan.sources[decider].state == SOURCE_ABSENT) {
        decider++;
    }
    fetch->decider = decider;
    if (decider == SOURCE_KIND_COUNT) {
        fetch_fail(fetch, ERR_AUTH, "no AWS credentials found: no source is configured");
        return;
    }
    const struct aws_source *source = &fetch->plan.sources[decider];
    fetch->name = credentials_fetch_describe(fetch, source);
    if (source->state == SOURCE_BROKEN) {
        fetch_fail(fetch, ERR_AUTH, "%.*s", STR_ARG(source->reason));
        return;
    }
    for (; source && fetch->chain_count < FETCH_CHAIN_MAX;
         source = source->kind == SOURCE_ASSUME_ROLE ? source->role.base : NULL) {
        fetch->chain[fetch->chain_count++] = source;
    }
    ask_next(fetch);
}

struct credentials_fetch *credentials_fetch_start(struct aws_client *client,
                                                  credentials_found_fn *done, void *context)
{
    struct credentials_fetch *fetch = HEAP_NEW(struct credentials_fetch);
    arena_init_secret(&fetch->arena);
    secret_registry_init(&fetch->book);
    fetch->client = client;
    fetch->done = done;
    fetch->context = context;
    fetch->name = STR("");
    fetch->start = (struct loop_task){.run = credentials_fetch_do_start, .context = fetch};
    loop_defer(client->setup.loop, &fetch->start);
    return fetch;
}
