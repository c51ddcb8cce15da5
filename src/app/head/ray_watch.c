/* ray_watch.c: one question to the GCS after the other. */
#include "app/head/ray_watch.h"

#include "app/head/ray_token.h"
#include "base/arena.h"
#include "io/heap.h"

#include <string.h>

enum { PACE_FIRST_MS = 100, PACE_MOST_MS = 2000, CALL_MS = 5000 };

struct ray_watch {
    struct loop *loop;
    struct http *http;
    struct arena arena;
    const char *server;
    const char *token_path;
    struct ray_watch_hooks hooks;
    struct gcs *gcs; /* NULL: there is no token yet */
    struct loop_timer *timer;
    int64_t pace_ms;
    int64_t asked_at_ms;
    bool expects;
    bool is_asking;
    bool is_stale; /* the client is opened again before the next question */
    bool is_answering;
    char version[64];
    struct err trouble;
};

static void ask(void *context);

static void go_on(struct ray_watch *watch)
{
    watch->is_asking = false;
    loop_timer_start(watch->timer, watch->pace_ms);
    if (watch->expects) {
        watch->pace_ms = PACE_FIRST_MS;
    } else {
        watch->pace_ms = 2 * watch->pace_ms < PACE_MOST_MS ? 2 * watch->pace_ms : PACE_MOST_MS;
    }
}

static void set_answering(struct ray_watch *watch, bool is_answering)
{
    if (watch->is_answering != is_answering) {
        watch->is_answering = is_answering;
        watch->hooks.changed(watch->hooks.context);
    }
}

/* Another cluster behind the address is the head's Ray, started again. */
static void note_trouble(struct ray_watch *watch, const struct gcs_answer *answer)
{
    watch->trouble = answer->err;
    watch->is_stale = answer->trouble == GCS_OTHER_CLUSTER || answer->trouble == GCS_TOKEN_REFUSED;
    if (watch->is_stale) {
        watch->version[0] = '\0';
    }
    set_answering(watch, false);
    go_on(watch);
}

static void on_nodes(void *context, const struct gcs_answer *answer, const struct gcs_node *nodes,
                     size_t count)
{
    struct ray_watch *watch = context;
    if (answer->trouble != GCS_FINE) {
        note_trouble(watch, answer);
        return;
    }
    watch->trouble = (struct err){0};
    watch->hooks.seen(watch->hooks.context, nodes, count, watch->asked_at_ms);
    set_answering(watch, true);
    go_on(watch);
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
    watch->asked_at_ms = loop_now_ms(watch->loop);
    gcs_list_nodes(watch->gcs, on_nodes, watch);
}

static void open_client(struct ray_watch *watch)
{
    struct buf token;
    buf_init(&token, RAY_TOKEN_BYTES_MAX);
    if (!watch->token_path || ray_token_read(watch->token_path, &token, &watch->trouble)) {
        watch->gcs = gcs_open(&(struct gcs_setup){
            .http = watch->http,
            .server = watch->server,
            .token = buf_str(&token),
            .deadline_ms = CALL_MS,
        });
    }
    buf_wipe(&token);
}

static void ask(void *context)
{
    struct ray_watch *watch = context;
    if (watch->gcs && watch->is_stale) {
        gcs_close(watch->gcs);
        watch->gcs = NULL;
    }
    watch->is_stale = false;
    if (!watch->gcs) {
        open_client(watch);
    }
    if (!watch->gcs) {
        go_on(watch);
        return;
    }
    watch->is_asking = true;
    watch->asked_at_ms = loop_now_ms(watch->loop);
    if (watch->version[0] == '\0') {
        gcs_check_alive(watch->gcs, on_alive, watch);
    } else {
        gcs_list_nodes(watch->gcs, on_nodes, watch);
    }
}

struct ray_watch *ray_watch_open(const struct ray_watch_setup *setup)
{
    struct ray_watch *watch = HEAP_NEW(struct ray_watch);
    arena_init(&watch->arena);
    watch->loop = setup->loop;
    watch->http = setup->http;
    watch->hooks = setup->hooks;
    watch->server = arena_printf(&watch->arena, "http://%.*s", STR_ARG(setup->address)).ptr;
    if (setup->token_path) {
        watch->token_path = arena_str(&watch->arena, str_from(setup->token_path)).ptr;
    }
    watch->pace_ms = PACE_FIRST_MS;
    watch->timer = loop_timer_new(setup->loop, ask, watch);
    loop_timer_start(watch->timer, 0);
    return watch;
}

void ray_watch_close(struct ray_watch *watch)
{
    if (watch) {
        loop_timer_free(watch->timer);
        if (watch->gcs) {
            gcs_close(watch->gcs);
        }
        arena_clear(&watch->arena);
        free(watch);
    }
}

void ray_watch_expect(struct ray_watch *watch, bool expects)
{
    bool begins = expects && !watch->expects;
    watch->expects = expects;
    if (begins) {
        watch->pace_ms = PACE_FIRST_MS;
        if (!watch->is_asking) {
            loop_timer_start(watch->timer, PACE_FIRST_MS);
        }
    }
}

struct str ray_watch_version(const struct ray_watch *watch)
{
    return watch->is_answering ? str_from(watch->version) : STR("");
}

struct str ray_watch_trouble(const struct ray_watch *watch)
{
    return watch->is_answering ? STR("") : str_from(watch->trouble.text);
}
