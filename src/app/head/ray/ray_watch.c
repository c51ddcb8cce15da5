/* ray_watch.c: one question to the GCS after the other. */
#include "app/head/ray/ray_watch.h"

#include "base/arena.h"
#include "io/heap.h"
#include "ray/gcs_access.h"
#include "ray/token.h"

#include <string.h>
#include <time.h>

enum {
    PACE_MS = 400,
    EXPECTING_MS = 100,
    AWAY_MOST_MS = 2000,
    PACE_MOST_MS = 10 * 1000, /* a third of the time after which the core calls itself blind */
    SMALL_NODES = 500,        /* up to here the pace is kept whatever an answer costs */
    SHARE = 100,              /* one part in so many of a processor is ours */
    EXPECTING_SHARE = 20,
    GCS_SHARE = 33, /* the same for the GCS, which spends far more on an answer than we do */
    GCS_EXPECTING_SHARE = 10,
    CALL_MS = 5000,
    COSTS = 8,
};

struct ray_watch {
    struct loop *loop;
    struct http *http;
    struct arena arena;
    const char *address;
    const char *token_path;
    struct ray_watch_hooks hooks;
    struct gcs *gcs; /* NULL: there is no token yet */
    struct loop_timer *timer;
    int64_t asked_at_ms;
    double asked_cpu_ms;
    double costs[COSTS]; /* of the last answers; the least counts: others did other work too */
    double waits[COSTS]; /* likewise, until the answer was there */
    size_t cost_count;
    struct ray_pace pace;
    struct ray_watch_figures figures;
    bool is_asking;
    bool hurries;
    bool is_stale; /* the client is opened again before the next question */
    bool is_answering;
    char version[64];
    struct err trouble;
};

/* ---- the pace ---- */

int64_t ray_pace_ms(const struct ray_pace *pace)
{
    int64_t pause = pace->expects ? EXPECTING_MS : PACE_MS;
    if (pace->failures > 0) {
        unsigned doubled = pace->failures < 5 ? pace->failures : 5;
        pause <<= doubled - 1;
        return pause < AWAY_MOST_MS ? pause : AWAY_MOST_MS;
    }
    if (pace->nodes > SMALL_NODES) {
        int64_t least = (int64_t)(pace->cost_ms * (pace->expects ? EXPECTING_SHARE : SHARE));
        int64_t sparing = (int64_t)(pace->wait_ms *
                                    (pace->expects ? GCS_EXPECTING_SHARE : GCS_SHARE));
        pause = least > pause ? least : pause;
        pause = sparing > pause ? sparing : pause;
    }
    return pause < PACE_MOST_MS ? pause : PACE_MOST_MS;
}

/* Of this process so far. */
static double cpu_ms(void)
{
    struct timespec spent = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

static double least_of(const double *values, size_t count)
{
    double least = 0;
    for (size_t i = 0; i < COSTS && i < count; i++) {
        least = i == 0 || values[i] < least ? values[i] : least;
    }
    return least;
}

static void note_cost(struct ray_watch *watch, double wait_ms)
{
    watch->costs[watch->cost_count % COSTS] = cpu_ms() - watch->asked_cpu_ms;
    watch->waits[watch->cost_count % COSTS] = wait_ms;
    watch->cost_count++;
    watch->pace.cost_ms = watch->figures.cost_ms = least_of(watch->costs, watch->cost_count);
    watch->pace.wait_ms = least_of(watch->waits, watch->cost_count);
}

/* ---- asking ---- */

static void go_on(struct ray_watch *watch)
{
    int64_t pause = ray_pace_ms(&watch->pace);
    int64_t wait = watch->asked_at_ms + pause - loop_now_ms(watch->loop);
    watch->is_asking = false;
    watch->figures.pause_ms = pause;
    if (watch->pace.failures > 0) {
        wait = pause;
    }
    loop_timer_start(watch->timer, watch->hurries || wait < 0 ? 0 : wait);
    watch->hurries = false;
}

static void set_answering(struct ray_watch *watch, bool is_answering)
{
    watch->pace.failures = is_answering ? 0 : watch->pace.failures + 1;
    watch->figures.failed += !is_answering;
    if (watch->is_answering != is_answering) {
        watch->is_answering = is_answering;
        watch->hooks.changed(watch->hooks.context);
    }
}

/* Another cluster behind the address is the head's Ray, started again. One that has never answered
 * may not have been there when it was looked at how it is spoken to. */
static void note_trouble(struct ray_watch *watch, const struct gcs_answer *answer)
{
    bool has_answered = watch->version[0] != '\0';
    watch->trouble = answer->err;
    watch->is_stale = !has_answered || answer->trouble == GCS_OTHER_CLUSTER ||
                      answer->trouble == GCS_TOKEN_REFUSED;
    if (watch->is_stale) {
        watch->version[0] = '\0';
    }
    if (answer->trouble == GCS_OTHER_CLUSTER) {
        watch->hooks.replaced(watch->hooks.context);
    }
    set_answering(watch, false);
    go_on(watch);
}

static void on_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct ray_watch *watch = context;
    struct err err = {0};
    double wait_ms = (double)(loop_now_ms(watch->loop) - watch->asked_at_ms);
    if (answer->trouble != GCS_FINE) {
        note_trouble(watch, answer);
        return;
    }
    if (!watch->hooks.seen(watch->hooks.context, bytes, watch->asked_at_ms, &err)) {
        struct gcs_answer strange = {.trouble = GCS_REFUSED, .err = err};
        note_trouble(watch, &strange);
        return;
    }
    watch->trouble = (struct err){0};
    note_cost(watch, wait_ms);
    watch->figures.polls++;
    watch->figures.answer_at = loop_now_ms(watch->loop);
    watch->figures.poll_ms = (double)(watch->figures.answer_at - watch->asked_at_ms);
    set_answering(watch, true);
    go_on(watch);
}

static void read_state(struct ray_watch *watch)
{
    watch->asked_at_ms = loop_now_ms(watch->loop);
    watch->asked_cpu_ms = cpu_ms();
    gcs_read_state(watch->gcs, on_state, watch);
}

static void on_alive(void *context, const struct gcs_answer *answer, struct str version)
{
    struct ray_watch *watch = context;
    if (answer->trouble != GCS_FINE) {
        note_trouble(watch, answer);
        return;
    }
    size_t len = version.len < sizeof(watch->version) ? version.len : sizeof(watch->version) - 1;
    memcpy(watch->version, version.ptr, len);
    watch->version[len] = '\0';
    read_state(watch);
}

static void open_client(struct ray_watch *watch)
{
    struct gcs_setup setup = {.http = watch->http, .deadline_ms = CALL_MS};
    struct arena arena;
    struct buf token;
    arena_init_secret(&arena);
    buf_init(&token, RAY_TOKEN_BYTES_MAX);
    struct gcs_access access = gcs_access_find(watch->address, &arena);
    bool ok = !watch->token_path || ray_token_read(watch->token_path, &token, &watch->trouble);
    setup.token = buf_str(&token);
    if (ok && gcs_access_apply(&access, watch->address, &arena, &setup, &watch->trouble)) {
        watch->gcs = gcs_open(&setup);
    }
    buf_wipe(&token);
    arena_clear(&arena);
}

static void close_client(struct ray_watch *watch)
{
    if (watch->gcs) {
        watch->hooks.closing(watch->hooks.context);
        gcs_close(watch->gcs);
        watch->gcs = NULL;
    }
}

static void ask(void *context)
{
    struct ray_watch *watch = context;
    if (watch->is_stale) {
        close_client(watch);
    }
    watch->is_stale = false;
    if (!watch->gcs) {
        open_client(watch);
    }
    watch->asked_at_ms = loop_now_ms(watch->loop);
    if (!watch->gcs) {
        go_on(watch);
        return;
    }
    watch->is_asking = true;
    if (watch->version[0] == '\0') {
        gcs_check_alive(watch->gcs, on_alive, watch);
    } else {
        read_state(watch);
    }
}

/* ---- opening and closing ---- */

struct ray_watch *ray_watch_open(const struct ray_watch_setup *setup)
{
    struct ray_watch *watch = HEAP_NEW(struct ray_watch);
    arena_init(&watch->arena);
    watch->loop = setup->loop;
    watch->http = setup->http;
    watch->hooks = setup->hooks;
    watch->figures.answer_at = -1;
    watch->address = arena_str(&watch->arena, setup->address).ptr;
    if (setup->token_path) {
        watch->token_path = arena_str(&watch->arena, str_from(setup->token_path)).ptr;
    }
    watch->timer = loop_timer_new(setup->loop, ask, watch);
    loop_timer_start(watch->timer, 0);
    return watch;
}

void ray_watch_close(struct ray_watch *watch)
{
    if (watch) {
        loop_timer_free(watch->timer);
        close_client(watch);
        arena_clear(&watch->arena);
        free(watch);
    }
}

/* ---- what it is told, and what it tells ---- */

void ray_watch_expect(struct ray_watch *watch, bool expects)
{
    bool begins = expects && !watch->pace.expects;
    watch->pace.expects = expects;
    if (begins && !watch->is_asking) {
        loop_timer_start(watch->timer, EXPECTING_MS);
    }
}

void ray_watch_size(struct ray_watch *watch, size_t nodes)
{
    watch->pace.nodes = nodes;
}

void ray_watch_hurry(struct ray_watch *watch)
{
    if (watch->is_asking) {
        watch->hurries = true;
    } else {
        loop_timer_start(watch->timer, 0);
    }
}

struct gcs *ray_watch_gcs(struct ray_watch *watch)
{
    return watch->is_answering && !watch->is_stale ? watch->gcs : NULL;
}

struct str ray_watch_version(const struct ray_watch *watch)
{
    return watch->is_answering ? str_from(watch->version) : STR("");
}

struct str ray_watch_trouble(const struct ray_watch *watch)
{
    return watch->is_answering ? STR("") : str_from(watch->trouble.text);
}

struct ray_watch_figures ray_watch_figures(const struct ray_watch *watch)
{
    return watch->figures;
}
