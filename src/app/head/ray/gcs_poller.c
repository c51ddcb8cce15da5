/* gcs_poller.c: polls the GCS, one request at a time. */
#include "app/head/ray/gcs_poller.h"

#include "base/arena.h"
#include "base/require.h"
#include "io/xalloc.h"
#include "ray/gcs_access.h"

#include <string.h>
#include <time.h>

enum {
    PACE_MS = 400,
    EXPECTING_MS = 100,
    AWAY_MOST_MS = 2000,
    PACE_MOST_MS = 10 * 1000, /* a third of the time after which the core's view of Ray is stale */
    SMALL_NODES = 500,        /* up to this size the interval does not depend on the cost */
    SHARE = 100,              /* our share of a processor is 1/100 */
    EXPECTING_SHARE = 20,
    GCS_SHARE = 33, /* the share of the GCS, which spends far more on a reply than we do */
    GCS_EXPECTING_SHARE = 10,
    CALL_MS = 5000,
    COSTS = 8,
};

struct gcs_poller {
    struct loop *loop;
    struct http *http;
    struct arena arena;
    const char *address;
    const char *token_path;
    struct gcs_poller_hooks hooks;
    struct gcs *gcs; /* NULL until there is a token */
    struct loop_timer *timer;
    int64_t asked_at_ms;
    double asked_cpu_ms;
    double costs[COSTS]; /* costs of the last replies; the minimum is used */
    double waits[COSTS]; /* time until the reply; the minimum is used */
    size_t cost_count;
    struct ray_pace pace;
    struct gcs_poller_figures figures;
    bool is_asking;
    bool hurries;
    bool is_stale; /* reopen the client before the next request */
    bool is_answering;
    bool is_gone; /* as of the last request, nothing listens at the address */
    char version[64];
    struct err trouble;
};

/* ---- interval ---- */

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

/* Processor time of this process. */
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

static void note_cost(struct gcs_poller *watch, double wait_ms)
{
    watch->costs[watch->cost_count % COSTS] = cpu_ms() - watch->asked_cpu_ms;
    watch->waits[watch->cost_count % COSTS] = wait_ms;
    watch->cost_count++;
    watch->pace.cost_ms = watch->figures.cost_ms = least_of(watch->costs, watch->cost_count);
    watch->pace.wait_ms = least_of(watch->waits, watch->cost_count);
}

/* ---- requests ---- */

static void gcs_poller_proceed(struct gcs_poller *watch)
{
    int64_t pause = ray_pace_ms(&watch->pace);
    require(pause > 0 && pause <= PACE_MOST_MS, "the view of Ray does not become stale");
    require(watch->asked_at_ms <= loop_now_ms(watch->loop), "the last request is in the past");
    int64_t wait = watch->asked_at_ms + pause - loop_now_ms(watch->loop);
    watch->is_asking = false;
    watch->figures.pause_ms = pause;
    if (watch->pace.failures > 0) {
        wait = pause;
    }
    loop_timer_start(watch->timer, watch->hurries || wait < 0 ? 0 : wait);
    watch->hurries = false;
}

static void set_answering(struct gcs_poller *watch, bool is_answering)
{
    watch->pace.failures = is_answering ? 0 : watch->pace.failures + 1;
    watch->figures.failed += !is_answering;
    if (watch->is_answering != is_answering) {
        watch->is_answering = is_answering;
        watch->hooks.changed(watch->hooks.context);
    }
}

static void note_gone(struct gcs_poller *watch, bool is_gone)
{
    bool is_news = watch->is_gone != is_gone && !watch->is_answering;
    watch->is_gone = is_gone;
    if (is_news) {
        watch->hooks.changed(watch->hooks.context);
    }
}

/* GCS_OTHER_CLUSTER means that the head's Ray was restarted. If Ray has never answered, it may not
 * have been running when its access settings were detected, so they are detected again. */
static void gcs_poller_note_error(struct gcs_poller *watch, const struct gcs_answer *answer)
{
    bool has_answered = watch->version[0] != '\0';
    watch->trouble = answer->err;
    note_gone(watch, answer->has_no_server);
    watch->is_stale = !has_answered || answer->trouble == GCS_OTHER_CLUSTER ||
                      answer->trouble == GCS_TOKEN_REFUSED;
    if (watch->is_stale) {
        watch->version[0] = '\0';
    }
    if (answer->trouble == GCS_OTHER_CLUSTER) {
        watch->hooks.replaced(watch->hooks.context);
    }
    set_answering(watch, false);
    gcs_poller_proceed(watch);
}

static void on_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct gcs_poller *watch = context;
    struct err err = {0};
    double wait_ms = (double)(loop_now_ms(watch->loop) - watch->asked_at_ms);
    if (answer->trouble != GCS_FINE) {
        gcs_poller_note_error(watch, answer);
        return;
    }
    if (!watch->hooks.seen(watch->hooks.context, bytes, watch->asked_at_ms, &err)) {
        struct gcs_answer strange = {.trouble = GCS_REFUSED, .err = err};
        gcs_poller_note_error(watch, &strange);
        return;
    }
    watch->trouble = (struct err){0};
    watch->is_gone = false;
    note_cost(watch, wait_ms);
    watch->figures.polls++;
    watch->figures.answer_at = loop_now_ms(watch->loop);
    watch->figures.poll_ms = (double)(watch->figures.answer_at - watch->asked_at_ms);
    set_answering(watch, true);
    gcs_poller_proceed(watch);
}

static void gcs_poller_read_state(struct gcs_poller *watch)
{
    watch->asked_at_ms = loop_now_ms(watch->loop);
    watch->asked_cpu_ms = cpu_ms();
    gcs_read_state(watch->gcs, on_state, watch);
}

static void on_alive(void *context, const struct gcs_answer *answer, struct str version)
{
    struct gcs_poller *watch = context;
    if (answer->trouble != GCS_FINE) {
        gcs_poller_note_error(watch, answer);
        return;
    }
    size_t len = version.len < sizeof(watch->version) ? version.len : sizeof(watch->version) - 1;
    memcpy(watch->version, version.ptr, len);
    watch->version[len] = '\0';
    gcs_poller_read_state(watch);
}

static void close_client(struct gcs_poller *watch)
{
    if (watch->gcs) {
        watch->hooks.closing(watch->hooks.context);
        gcs_close(watch->gcs);
        watch->gcs = NULL;
    }
}

static void gcs_poller_request(void *context)
{
    struct gcs_poller *watch = context;
    if (watch->is_stale) {
        close_client(watch);
    }
    watch->is_stale = false;
    if (!watch->gcs) {
        bool has_token;
        struct gcs_place place = {.http = watch->http,
                                  .address = watch->address,
                                  .token_path = watch->token_path,
                                  .deadline_ms = CALL_MS};
        watch->gcs = gcs_open_at(&place, &has_token, &watch->trouble);
    }
    watch->asked_at_ms = loop_now_ms(watch->loop);
    if (!watch->gcs) {
        gcs_poller_proceed(watch);
        return;
    }
    watch->is_asking = true;
    if (watch->version[0] == '\0') {
        gcs_check_alive(watch->gcs, on_alive, watch);
    } else {
        gcs_poller_read_state(watch);
    }
}

/* ---- opening and closing ---- */

struct gcs_poller *gcs_poller_open(const struct gcs_poller_setup *setup)
{
    struct gcs_poller *watch = HEAP_NEW(struct gcs_poller);
    arena_init(&watch->arena);
    watch->loop = setup->loop;
    watch->http = setup->http;
    watch->hooks = setup->hooks;
    watch->figures.answer_at = -1;
    watch->address = arena_str(&watch->arena, setup->address).ptr;
    if (setup->token_path) {
        watch->token_path = arena_str(&watch->arena, str_from(setup->token_path)).ptr;
    }
    watch->timer = loop_timer_new(setup->loop, gcs_poller_request, watch);
    loop_timer_start(watch->timer, 0);
    return watch;
}

void gcs_poller_close(struct gcs_poller *watch)
{
    if (watch) {
        loop_timer_free(watch->timer);
        close_client(watch);
        arena_clear(&watch->arena);
        free(watch);
    }
}

/* ---- interface ---- */

void gcs_poller_expect(struct gcs_poller *watch, bool expects)
{
    bool begins = expects && !watch->pace.expects;
    watch->pace.expects = expects;
    if (begins && !watch->is_asking) {
        loop_timer_start(watch->timer, EXPECTING_MS);
    }
}

void gcs_poller_size(struct gcs_poller *watch, size_t nodes)
{
    watch->pace.nodes = nodes;
}

void gcs_poller_hurry(struct gcs_poller *watch)
{
    if (watch->is_asking) {
        watch->hurries = true;
    } else {
        loop_timer_start(watch->timer, 0);
    }
}

struct gcs *gcs_poller_gcs(struct gcs_poller *watch)
{
    return watch->is_answering && !watch->is_stale ? watch->gcs : NULL;
}

struct str gcs_poller_version(const struct gcs_poller *watch)
{
    return watch->is_answering ? str_from(watch->version) : STR("");
}

struct str gcs_poller_trouble(const struct gcs_poller *watch)
{
    return watch->is_answering ? STR("") : str_from(watch->trouble.text);
}

bool gcs_poller_is_gone(const struct gcs_poller *watch)
{
    return !watch->is_answering && watch->is_gone;
}

struct gcs_poller_figures gcs_poller_figures(const struct gcs_poller *watch)
{
    return watch->figures;
}
