/* tell.c: which node of Ray this machine is, and its drain. */
#include "app/node/tell.h"

#include "base/arena.h"
#include "io/file.h"
#include "io/heap.h"
#include "ray/gcs.h"
#include "ray/gcs_access.h"

#include <string.h>

enum {
    CALL_MS = 3000,
    RETRY_FIRST_MS = 100,
    RETRY_MOST_MS = 1000,
    TOKEN_BYTES = 4096,
    TEXT_BYTES = 200,
};

struct teller {
    struct teller_setup setup;
    struct gcs *gcs; /* NULL: to be opened, with the token of then */
    struct loop_timer *retry;
    struct notice notice; /* to be told; none: at rest */
    struct notice sent;   /* what the drain that is under way says */
    int64_t delay_ms;
    int64_t since_ms;      /* monotonic: being told since */
    char said[TEXT_BYTES]; /* why it does not work: the same is not logged again */
    bool is_asking;        /* a call is under way */
    bool needs_gcs;        /* after a refusal: another token may be there by now */
};

#define LOG(teller, level, ...) log_write((teller)->setup.log, LOG_LEVEL_##level, __VA_ARGS__)

static void try_again(struct teller *teller, const char *why)
{
    teller->is_asking = false;
    if (strncmp(teller->said, why, sizeof(teller->said) - 1) != 0) {
        snprintf(teller->said, sizeof(teller->said), "%s", why);
        LOG(teller, WARNING, "not told yet: %s", teller->said);
    }
    loop_timer_start(teller->retry, teller->delay_ms);
    teller->delay_ms = 2 * teller->delay_ms < RETRY_MOST_MS ? 2 * teller->delay_ms : RETRY_MOST_MS;
}

/* True, and nothing is left to do, when it has failed. */
static bool has_failed(struct teller *teller, const struct gcs_answer *answer)
{
    if (answer->trouble == GCS_FINE) {
        return false;
    }
    teller->needs_gcs = teller->needs_gcs || answer->trouble == GCS_TOKEN_REFUSED;
    try_again(teller, answer->err.text);
    return true;
}

/* ---- the drain ---- */

static void hear_drain(void *context, const struct gcs_answer *answer, bool is_accepted,
                       struct str why_not)
{
    struct teller *teller = context;
    char why[TEXT_BYTES];
    if (has_failed(teller, answer)) {
        return;
    }
    if (!is_accepted) {
        snprintf(why, sizeof(why), "the drain was refused: %.*s", STR_ARG(why_not));
        try_again(teller, why);
        return;
    }
    LOG(teller, INFO, "told: Ray drains this node after_ms=%lld",
        (long long)(loop_now_ms(teller->setup.loop) - teller->since_ms));
    teller->is_asking = false;
    if (notice_is_news(&teller->notice, &teller->sent)) {
        loop_timer_start(teller->retry, 0); /* a notice came after the advice */
    } else {
        teller->notice = (struct notice){NOTICE_NONE, 0};
    }
}

static void drain(struct teller *teller, struct str id)
{
    AUTO_BUF struct buf message;
    buf_init(&message, TEXT_BYTES);
    buf_add_c(&message, teller->notice.kind == NOTICE_FINAL
                            ? "the cloud takes this machine away at "
                            : "the cloud recommends to replace this machine before ");
    clock_add_utc(&message, teller->notice.until_ms);
    teller->sent = teller->notice;
    gcs_drain(teller->gcs,
              &(struct gcs_drain){
                  .node = id,
                  .message = buf_str(&message),
                  .deadline_ms = teller->notice.until_ms,
              },
              hear_drain, teller);
}

/* ---- which node ---- */

struct search {
    struct str instance_id;
    char id[RAY_ID_BYTES];
    struct str bytes;
    bool is_found;
};

/* Of several of one machine only one lives; the others are of earlier starts. */
static void look_at(void *context, const struct ray_glance *glance)
{
    struct search *search = context;
    if (str_eq(glance->instance_id, search->instance_id) && glance->status != RAY_NODE_DEAD) {
        memcpy(search->id, glance->id.ptr, sizeof(search->id));
        search->bytes = glance->bytes;
        search->is_found = true;
    }
}

/* Ray would drain its head as well, and the cluster with it. */
static bool is_head(const struct search *search, struct err *err)
{
    struct arena arena;
    struct ray_node_detail detail = {0};
    arena_init(&arena);
    bool ok = ray_node_read(search->bytes, &arena, &detail, err);
    arena_clear(&arena);
    return !ok || detail.is_head;
}

static void hear_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct teller *teller = context;
    struct search search = {.instance_id = str_from(teller->setup.instance_id)};
    struct ray_state state;
    struct err err;
    if (has_failed(teller, answer)) {
        return;
    }
    if (teller->notice.kind == NOTICE_NONE) { /* taken back meanwhile */
        teller->is_asking = false;
        return;
    }
    if (!ray_state_pass(bytes, look_at, &search, &state, &err)) {
        try_again(teller, err.text);
    } else if (!search.is_found) {
        try_again(teller, "Ray does not know this machine");
    } else if (is_head(&search, &err)) {
        try_again(teller, "this is the head's machine, which is not drained");
    } else {
        drain(teller, (struct str){search.id, sizeof(search.id)});
    }
}

/* ---- trying ---- */

static bool open_with(struct teller *teller, struct str token, struct err *err)
{
    struct gcs_setup setup = {.http = teller->setup.http, .token = token, .deadline_ms = CALL_MS};
    struct arena arena;
    arena_init_secret(&arena);
    struct gcs_access access = gcs_access_find(teller->setup.gcs, &arena);
    bool ok = gcs_access_apply(&access, teller->setup.gcs, &arena, &setup, err);
    if (ok && teller->gcs) {
        gcs_close(teller->gcs);
    }
    if (ok) {
        teller->gcs = gcs_open(&setup);
        teller->needs_gcs = false;
    }
    arena_clear(&arena);
    return ok;
}

static bool open_gcs(struct teller *teller, struct err *err)
{
    struct buf token;
    if (teller->gcs && !teller->needs_gcs) {
        return true;
    }
    buf_init(&token, TOKEN_BYTES);
    bool ok = (!teller->setup.token_file ||
               file_read_secret(teller->setup.token_file, &token, err)) &&
              open_with(teller, str_trim(buf_str(&token)), err);
    buf_wipe(&token);
    return ok;
}

static void try_now(void *context)
{
    struct teller *teller = context;
    struct err err;
    if (teller->notice.kind == NOTICE_NONE || teller->is_asking) {
        return;
    }
    teller->is_asking = true;
    if (open_gcs(teller, &err)) {
        gcs_read_state(teller->gcs, hear_state, teller);
    } else {
        try_again(teller, err.text);
    }
}

void teller_tell(struct teller *teller, const struct notice *notice)
{
    teller->notice = *notice;
    teller->delay_ms = RETRY_FIRST_MS;
    teller->since_ms = loop_now_ms(teller->setup.loop);
    teller->said[0] = '\0';
    loop_timer_start(teller->retry, 0);
}

void teller_stop(struct teller *teller)
{
    teller->notice = (struct notice){NOTICE_NONE, 0};
    loop_timer_stop(teller->retry);
}

/* ---- opening and closing ---- */

struct teller *teller_open(const struct teller_setup *setup)
{
    struct teller *teller = HEAP_NEW(struct teller);
    teller->setup = *setup;
    teller->retry = loop_timer_new(setup->loop, try_now, teller);
    return teller;
}

void teller_close(struct teller *teller)
{
    if (teller) {
        loop_timer_free(teller->retry);
        if (teller->gcs) {
            gcs_close(teller->gcs);
        }
        free(teller);
    }
}
