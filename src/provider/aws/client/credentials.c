/* credentials.c: caches keys and queues calls that wait for them. */
#include "provider/aws/client/credentials.h"

#include "provider/aws/client/aws_client_internal.h"
#include "provider/secret_registry.h"

enum {
    ADVISORY_S = 15 * 60,
    MANDATORY_S = 10 * 60,
    AGAIN_MS = 60 * 1000, /* pause after a failed refresh while the old keys are valid */
    STABLE_S = 10 * 60,   /* how long expired keys are used while the metadata service fails */
};

struct credentials {
    struct aws_client *client;
    struct arena arena; /* secret: holds `keys` */
    struct aws_credentials keys;
    bool has_keys, is_rejected;
    unsigned number;
    int64_t fetched_at;
    int64_t again_ms; /* monotonic ms: no background refresh before */
    struct credentials_fetch *fetch;
    struct wait_list waiting;
    struct secret_registry book, old_book; /* secrets of these keys and of the previous ones */
    struct arena words;                    /* memory of the fields below */
    struct str source, report;
};

struct credentials *credentials_new(struct aws_client *client)
{
    struct credentials *credentials = HEAP_NEW(struct credentials);
    credentials->client = client;
    arena_init_secret(&credentials->arena);
    secret_registry_init(&credentials->book);
    secret_registry_init(&credentials->old_book);
    arena_init(&credentials->words);
    return credentials;
}

void credentials_stop(struct credentials *credentials)
{
    if (credentials->fetch) {
        credentials_fetch_cancel(credentials->fetch);
        credentials->fetch = NULL;
    }
}

void credentials_free(struct credentials *credentials)
{
    secret_registry_clear(&credentials->book, NULL); /* keep them registered: the log outlives us */
    secret_registry_clear(&credentials->old_book, NULL);
    arena_clear(&credentials->arena);
    arena_clear(&credentials->words);
    free(credentials);
}

/* ---- fetching ---- */

static int64_t left_s(const struct credentials *credentials)
{
    int64_t end = credentials->keys.expires_at;
    return end == INT64_MAX ? INT64_MAX : end - aws_client_now(credentials->client);
}

static void keep_words(struct credentials *credentials, const struct credentials_found *found)
{
    struct str said[SOURCE_KIND_COUNT] = {{0}};
    arena_clear(&credentials->words);
    credentials->report = STR("");
    if (found->plan) {
        if (found->decider < SOURCE_KIND_COUNT) {
            said[found->decider] = found->is_ok ? STR("in use") : str_from(found->err.text);
        }
        credentials->report = aws_source_report(found->plan, said, &credentials->words);
    }
    credentials->source = arena_str(&credentials->words, found->source);
}

/* Messages in flight may still quote the previous keys, so those stay registered; older ones are
 * dropped. */
static void keep_book(struct credentials *credentials, struct secret_registry *book)
{
    secret_registry_clear(&credentials->old_book, credentials->client->setup.redact);
    credentials->old_book = credentials->book;
    credentials->book = *book;
    secret_registry_init(book);
}

static void keep_keys(struct credentials *credentials, const struct aws_credentials *keys)
{
    struct arena *arena = &credentials->arena;
    arena_clear(arena);
    credentials->keys = (struct aws_credentials){
        .access_key = arena_str(arena, keys->access_key),
        .secret_key = arena_str(arena, keys->secret_key),
        .session_token = arena_str(arena, keys->session_token),
        .account_id = arena_str(arena, keys->account_id),
        .expires_at = keys->expires_at};
    credentials->has_keys = true;
    credentials->is_rejected = false;
    credentials->number++;
    credentials->fetched_at = aws_client_now(credentials->client);
    credentials->client->counts.refreshed++;
}

/* Rejects keys that have expired on arrival. Exception: keys of a machine's role, because AWS
 * accepts them longer when its metadata service cannot renew them. */
static bool check_age(struct credentials *credentials, struct credentials_found *found)
{
    int64_t now = aws_client_now(credentials->client);
    if (!found->is_ok || found->keys.expires_at > now) {
        return found->is_ok;
    }
    if (found->decider == SOURCE_IMDS) {
        log_write(credentials->client->setup.log, LOG_LEVEL_WARNING,
                  "the metadata service returned expired credentials; trying them anyway");
        found->keys.expires_at = now + STABLE_S;
        return true;
    }
    found->is_ok = false;
    return err_set(&found->err, ERR_AUTH, "%.*s: the credentials have expired",
                   STR_ARG(found->source));
}

static void credentials_on_found(void *context, const struct credentials_found *result)
{
    struct credentials *credentials = context;
    struct credentials_found found = *result;
    credentials->fetch = NULL;
    if (check_age(credentials, &found)) {
        keep_words(credentials, &found);
        keep_keys(credentials, &found.keys);
        keep_book(credentials, found.book);
        log_write(credentials->client->setup.log, LOG_LEVEL_DEBUG,
                  "credentials found source=\"%.*s\" key=%.*s", STR_ARG(credentials->source),
                  STR_ARG(credentials->keys.access_key));
        wait_list_serve(&credentials->waiting, NULL);
        return;
    }
    bool has_old = credentials->has_keys && !credentials->is_rejected && left_s(credentials) > 0;
    if (!has_old) {
        keep_words(credentials, &found);
        wait_list_serve(&credentials->waiting, &found.err);
        return;
    }
    credentials->again_ms = loop_now_ms(credentials->client->setup.loop) + AGAIN_MS;
    log_write(credentials->client->setup.log, LOG_LEVEL_WARNING,
              "cannot refresh the credentials yet left_s=%lld error=\"%s\"",
              (long long)left_s(credentials), found.err.text);
    wait_list_serve(&credentials->waiting, NULL);
}

static void start_fetch(struct credentials *credentials)
{
    if (!credentials->fetch) {
        credentials->fetch = credentials_fetch_start(credentials->client, credentials_on_found,
                                                     credentials);
    }
}

/* ---- requesting keys ---- */

static int64_t credentials_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

const struct aws_credentials *credentials_now(struct credentials *credentials, unsigned *ret_number)
{
    bool is_late = false;
    if (!credentials->has_keys || credentials->is_rejected) {
        return NULL;
    }
    if (credentials->keys.expires_at != INT64_MAX) {
        int64_t life = credentials->keys.expires_at - credentials->fetched_at;
        int64_t left = left_s(credentials);
        bool may_fetch = loop_now_ms(credentials->client->setup.loop) >= credentials->again_ms;
        is_late = left <= 0 || (left <= credentials_least(MANDATORY_S, life / 6) && may_fetch);
        if (left <= credentials_least(ADVISORY_S, life / 4) && may_fetch) {
            start_fetch(credentials);
        }
    }
    *ret_number = credentials->number;
    return is_late ? NULL : &credentials->keys;
}

void credentials_await(struct credentials *credentials, struct waiter *waiter)
{
    wait_list_add(&credentials->waiting, waiter);
    start_fetch(credentials);
}

void credentials_leave(struct credentials *credentials, struct waiter *waiter)
{
    wait_list_remove(&credentials->waiting, waiter);
}

void credentials_reject(struct credentials *credentials, unsigned number)
{
    if (credentials->number == number) {
        credentials->is_rejected = true;
    }
}

struct str credentials_source(const struct credentials *credentials)
{
    return credentials->has_keys ? credentials->source : STR("");
}

struct str credentials_report(const struct credentials *credentials, struct arena *arena)
{
    struct aws_source_plan plan;
    if (credentials->report.len > 0) {
        return arena_str(arena, credentials->report);
    }
    struct arena scratch;
    arena_init_secret(&scratch);
    aws_source_plan(&credentials->client->profiles, &scratch, &plan);
    struct str report = aws_source_report(&plan, NULL, arena);
    arena_clear(&scratch);
    return report;
}
