/* gcp_credentials.c: caches the token and queues calls that wait for it. */
#include "provider/gcp/credentials/gcp_credentials.h"

#include "io/file.h"
#include "io/xalloc.h"
#include "provider/gcp/credentials/adc_search.h"
#include "provider/gcp/credentials/token_fetch.h"
#include "provider/secret_registry.h"
#include "provider/variable.h"

enum {
    RENEW_MS = 225 * 1000,
    MUST_RENEW_MS = 60 * 1000,
    AGAIN_MS = 60 * 1000, /* pause after a failed refresh while the old token is valid */
};

struct gcp_credentials {
    struct gcp_setup setup;
    struct arena arenas[2]; /* secret: the access, and space for the next one */
    int arena;              /* of the access */
    struct gcp_access access;
    struct token_known known;
    bool has_token, is_rejected;
    unsigned number;
    int64_t fetched_ms, expires_ms; /* on the loop's clock; INT64_MAX: never */
    int64_t again_ms;               /* no background refresh before */
    struct token_fetch *fetch;
    struct wait_list waiting;
    struct secret_registry book, old_book; /* secrets of this token and of the previous one */
};

struct gcp_credentials *gcp_credentials_new(const struct gcp_setup *setup)
{
    struct gcp_credentials *credentials = HEAP_NEW(struct gcp_credentials);
    credentials->setup = *setup;
    arena_init_secret(&credentials->arenas[0]);
    arena_init_secret(&credentials->arenas[1]);
    secret_registry_init(&credentials->book);
    secret_registry_init(&credentials->old_book);
    return credentials;
}

void gcp_credentials_free(struct gcp_credentials *credentials)
{
    if (credentials->fetch) {
        token_fetch_cancel(credentials->fetch);
    }
    secret_registry_clear(&credentials->book, NULL); /* keep them registered: the log outlives us */
    secret_registry_clear(&credentials->old_book, NULL);
    arena_clear(&credentials->arenas[0]);
    arena_clear(&credentials->arenas[1]);
    free(credentials);
}

bool gcp_credentials_exist(const struct gcp_setup *setup)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct adc_search search;
    adc_search_plan(setup->environ, &arena, &search);
    bool is_named = variable_get(setup->environ, "GCE_METADATA_HOST") ||
                    variable_get(setup->environ, "GCE_METADATA_IP");
    return setup->given_key.len + setup->given_token.len + search.named_path.len > 0 ||
           file_stat(search.gcloud_path.ptr).kind == FILE_REGULAR ||
           (search.has_metadata && (is_named || token_fetch_is_google_machine(setup)));
}

/* ---- fetching ---- */

static int64_t gcp_credentials_left_ms(const struct gcp_credentials *credentials)
{
    return credentials->expires_ms == INT64_MAX
               ? INT64_MAX
               : credentials->expires_ms - loop_now_ms(credentials->setup.loop);
}

/* The life of a token is measured on the loop's clock: the wall clock may jump. */
static void gcp_credentials_set_life(struct gcp_credentials *credentials)
{
    int64_t expires_at = credentials->access.expires_at;
    int64_t wall_ms = clock_wall_ms(loop_clock(credentials->setup.loop));
    credentials->fetched_ms = loop_now_ms(credentials->setup.loop);
    credentials->expires_ms = expires_at == INT64_MAX
                                  ? INT64_MAX
                                  : credentials->fetched_ms + expires_at * 1000 - wall_ms;
}

/* Copies before it clears: both may be in the old memory. */
static void gcp_credentials_copy(struct gcp_credentials *credentials,
                                 const struct gcp_access *access, const struct token_known *known)
{
    struct arena *arena = &credentials->arenas[!credentials->arena];
    credentials->access = (struct gcp_access){
        .token = arena_str(arena, access->token),
        .expires_at = access->expires_at,
        .project = arena_str(arena, access->project),
        .quota_project = arena_str(arena, access->quota_project),
        .universe = arena_str(arena, access->universe),
        .source = arena_str(arena, access->source),
    };
    credentials->known = (struct token_known){
        .is_metadata = known->is_metadata,
        .project = arena_str(arena, known->project),
        .universe = arena_str(arena, known->universe),
        .refresh_old = arena_str(arena, known->refresh_old),
        .refresh_new = arena_str(arena, known->refresh_new),
        .file_token = arena_str(arena, known->file_token),
        .is_file_token_rejected = known->is_file_token_rejected,
    };
    arena_clear(&credentials->arenas[credentials->arena]);
    credentials->arena = !credentials->arena;
}

static void gcp_credentials_keep(struct gcp_credentials *credentials, struct token_found *found)
{
    gcp_credentials_copy(credentials, &found->access, &found->known);
    credentials->has_token = true;
    credentials->is_rejected = false;
    credentials->number++;
    gcp_credentials_set_life(credentials);
}

/* Messages in flight may still quote the previous token, so that stays registered; older ones are
 * dropped. */
static void gcp_credentials_keep_book(struct gcp_credentials *credentials,
                                      struct secret_registry *book)
{
    secret_registry_clear(&credentials->old_book, credentials->setup.redact);
    credentials->old_book = credentials->book;
    credentials->book = *book;
    secret_registry_init(book);
}

static bool gcp_credentials_is_usable(const struct gcp_credentials *credentials)
{
    return credentials->has_token && !credentials->is_rejected &&
           gcp_credentials_left_ms(credentials) > 0;
}

/* A token that has expired on arrival would be fetched again and again. */
static bool gcp_credentials_check_age(const struct gcp_credentials *credentials,
                                      struct token_found *found)
{
    int64_t now = clock_wall_ms(loop_clock(credentials->setup.loop)) / 1000;
    if (found->is_ok && found->access.expires_at <= now) {
        found->is_ok = err_set(&found->err, ERR_AUTH, "%.*s: the new token has expired already",
                               STR_ARG(found->access.source));
    }
    return found->is_ok;
}

static void gcp_credentials_on_found(void *context, const struct token_found *result)
{
    struct gcp_credentials *credentials = context;
    struct token_found found = *result;
    credentials->fetch = NULL;
    if (gcp_credentials_check_age(credentials, &found)) {
        gcp_credentials_keep(credentials, &found);
        gcp_credentials_keep_book(credentials, found.book);
        log_write(credentials->setup.log, LOG_LEVEL_DEBUG,
                  "token found source=\"%.*s\" project=%.*s left_ms=%lld",
                  STR_ARG(credentials->access.source), STR_ARG(credentials->access.project),
                  (long long)gcp_credentials_left_ms(credentials));
        wait_list_serve(&credentials->waiting, NULL);
        return;
    }
    /* What is known now is kept: a used refresh token may have been replaced. */
    gcp_credentials_copy(credentials, &credentials->access, &found.known);
    if (!gcp_credentials_is_usable(credentials)) {
        wait_list_serve(&credentials->waiting, &found.err);
        return;
    }
    credentials->again_ms = loop_now_ms(credentials->setup.loop) + AGAIN_MS;
    log_write(credentials->setup.log, LOG_LEVEL_WARNING,
              "cannot refresh the token yet left_ms=%lld error=\"%s\"",
              (long long)gcp_credentials_left_ms(credentials), found.err.text);
    wait_list_serve(&credentials->waiting, NULL);
}

static void gcp_credentials_start(struct gcp_credentials *credentials)
{
    if (!credentials->fetch) {
        credentials->fetch = token_fetch_start(&credentials->setup, &credentials->known,
                                               gcp_credentials_on_found, credentials);
    }
}

/* ---- requesting a token ---- */

static int64_t gcp_credentials_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

const struct gcp_access *gcp_credentials_now(struct gcp_credentials *credentials,
                                             unsigned *ret_number)
{
    if (!gcp_credentials_is_usable(credentials)) {
        return NULL;
    }
    *ret_number = credentials->number;
    if (credentials->expires_ms == INT64_MAX) {
        return &credentials->access;
    }
    int64_t life = credentials->expires_ms - credentials->fetched_ms;
    int64_t left = gcp_credentials_left_ms(credentials);
    bool may_fetch = loop_now_ms(credentials->setup.loop) >= credentials->again_ms;
    if (may_fetch && left <= gcp_credentials_least(RENEW_MS, life / 4)) {
        gcp_credentials_start(credentials);
    }
    bool must_wait = may_fetch && left <= gcp_credentials_least(MUST_RENEW_MS, life / 8);
    return must_wait ? NULL : &credentials->access;
}

void gcp_credentials_await(struct gcp_credentials *credentials, struct waiter *waiter)
{
    wait_list_add(&credentials->waiting, waiter);
    gcp_credentials_start(credentials);
}

void gcp_credentials_leave(struct gcp_credentials *credentials, struct waiter *waiter)
{
    wait_list_remove(&credentials->waiting, waiter);
}

void gcp_credentials_reject(struct gcp_credentials *credentials, unsigned number)
{
    if (credentials->number == number) {
        credentials->is_rejected = true;
        credentials->known.is_file_token_rejected |= str_eq(credentials->access.token,
                                                            credentials->known.file_token);
    }
}
