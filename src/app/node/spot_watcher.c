/*
 * spot_watcher.c: polls the metadata service once a second and reports notices.
 *
 * A request without a valid reply is repeated; nothing is concluded from it.
 */
#include "app/node/spot_watcher.h"

#include "app/node/drain_notifier.h"
#include "app/node/notice.h"
#include "io/clock.h"
#include "io/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_MS = 1000,
    POLL_FAILED_MS = 5000, /* interval after several failures */
    FAILURES_MAX = 30,
    CONNECT_MS = 1000,
    ANSWER_MS = 2000,
    RAY_LOOK_MS = 30 * 1000,
    RAY_GONE_MS = 10 * 60 * 1000, /* longer than any `ray stop` followed by a start */
    ENDPOINT_BYTES = 512,
    TOKEN_BYTES = 1025,
    URL_BYTES = 1024,
    WORDS_BYTES = 200,
};

struct spot_watcher_watch {
    const struct node_watch_setup *setup;
    const struct log *log;
    const struct metadata_api *dialect;
    struct loop *loop;
    struct http *http;
    struct loop_timer *poll, *look;
    struct loop_signal *end;
    struct drain_notifier *notifier;
    const struct notice_page *page; /* being requested */
    struct notice seen;             /* notice seen in this round */
    struct notice told;             /* reported, or being reported */
    uint32_t failures;              /* consecutive */
    int64_t raylet;                 /* pid of the raylet; 0 if none was found */
    int64_t ray_seen_ms;            /* monotonic */
    char endpoint[ENDPOINT_BYTES];
    char token[TOKEN_BYTES];
};

#define LOG(watch, level, ...) log_write((watch)->log, LOG_LEVEL_##level, __VA_ARGS__)

static void spot_watcher_request(void *context);
static void ask_page(struct spot_watcher_watch *watch, const struct notice_page *page);

/* ---- the raylet ---- */

/* Is this process a raylet? Much cheaper than raylet_find(). */
static bool raylet_is_one(int64_t pid)
{
    return pid > 0 && process_is_named(pid, "raylet");
}

static bool raylet_inspect(void *context, int64_t pid)
{
    int64_t *found = context;
    *found = raylet_is_one(pid) ? pid : 0;
    return *found == 0;
}

/* The pid of a raylet, in any container; 0 if there is none. */
static int64_t raylet_find(void)
{
    int64_t found = 0;
    process_each(raylet_inspect, &found);
    return found;
}

/* ---- notices ---- */

static void spot_watcher_report(struct spot_watcher_watch *watch)
{
    AUTO_BUF struct buf until;
    buf_init(&until, WORDS_BYTES);
    clock_add_utc(&until, watch->seen.until_ms);
    LOG(watch, WARNING, "%s until=%.*s",
        watch->seen.kind == NOTICE_FINAL ? "interruption notice: the cloud will reclaim this "
                                           "instance"
                                         : "the cloud recommends replacing this instance",
        STR_ARG(buf_str(&until)));
    watch->told = watch->seen;
    drain_notifier_tell(watch->notifier, &watch->told);
}

/* The notice may disappear when a machine is stopped and started again. */
static void spot_watcher_forget(struct spot_watcher_watch *watch)
{
    LOG(watch, INFO, "the interruption notice was withdrawn");
    watch->told = (struct notice){NOTICE_NONE, 0};
    drain_notifier_stop(watch->notifier);
}

static void end_round(struct spot_watcher_watch *watch)
{
    if (notice_is_news(&watch->seen, &watch->told)) {
        spot_watcher_report(watch);
    } else if (watch->seen.kind == NOTICE_NONE && watch->told.kind != NOTICE_NONE) {
        spot_watcher_forget(watch);
    }
    loop_timer_start(watch->poll, POLL_MS);
}

/* Concludes nothing from an incomplete round. */
static void break_round(struct spot_watcher_watch *watch, const char *why)
{
    watch->failures++;
    if (watch->failures == 1 || watch->failures == FAILURES_MAX) {
        LOG(watch, WARNING, "cannot reach the metadata service failures=%u: %s", watch->failures,
            why);
    }
    loop_timer_start(watch->poll, watch->failures < FAILURES_MAX ? POLL_MS : POLL_FAILED_MS);
}

/* ---- requests ---- */

static void start_call(struct spot_watcher_watch *watch, const char *method, const char *path,
                       struct http_header header, http_done_fn *done)
{
    char url[URL_BYTES];
    snprintf(url, sizeof(url), "%s%s", watch->endpoint, path);
    http_start(watch->http, &(struct http_request){
                                .method = method,
                                .url = url,
                                .headers = &header,
                                .header_count = 1,
                                .version = HTTP_VERSION_1_1,
                                .is_direct = true,
                                .connect_ms = CONNECT_MS,
                                .total_ms = ANSWER_MS,
                                .body_max = NOTICE_ANSWER_BYTES_MAX,
                                .done = done,
                                .context = watch,
                            });
}

static void spot_watcher_on_page(void *context, const struct http_reply *reply)
{
    struct spot_watcher_watch *watch = context;
    const struct notice_page *page = watch->page;
    struct notice notice;
    struct err err;
    bool is_stale_token = reply->outcome == HTTP_REPLIED && reply->status == 401;
    if (is_stale_token) {
        watch->token[0] = '\0'; /* the next round requests a new one */
    }
    if (reply->outcome != HTTP_REPLIED) {
        break_round(watch, reply->err.text);
    } else if (!page->read(reply->status, reply->body, clock_wall_ms(loop_clock(watch->loop)),
                           &notice, &err)) {
        break_round(watch, err.text);
    } else {
        watch->failures = 0;
        watch->seen = notice.kind > watch->seen.kind ? notice : watch->seen;
        bool is_first = page == &watch->dialect->final;
        if (is_first && watch->setup->heeds_advice && watch->dialect->advice.path) {
            ask_page(watch, &watch->dialect->advice);
        } else {
            end_round(watch);
        }
    }
}

static void ask_page(struct spot_watcher_watch *watch, const struct notice_page *page)
{
    const struct metadata_api *dialect = watch->dialect;
    const char *value = dialect->header_value ? dialect->header_value : watch->token;
    watch->page = page;
    start_call(watch, "GET", page->path,
               (struct http_header){str_from(dialect->header), str_from(value)},
               spot_watcher_on_page);
}

static void spot_watcher_on_token(void *context, const struct http_reply *reply)
{
    struct spot_watcher_watch *watch = context;
    struct str token = str_trim(reply->body);
    if (reply->outcome != HTTP_REPLIED) {
        break_round(watch, reply->err.text);
    } else if (reply->status != 200 || !notice_is_token(token)) {
        break_round(watch, "the metadata service returned no token");
    } else {
        snprintf(watch->token, sizeof(watch->token), "%.*s", STR_ARG(token));
        ask_page(watch, &watch->dialect->final);
    }
}

static void spot_watcher_request(void *context)
{
    struct spot_watcher_watch *watch = context;
    const struct metadata_api *dialect = watch->dialect;
    watch->seen = (struct notice){NOTICE_NONE, 0};
    if (dialect->token_path && watch->token[0] == '\0') {
        start_call(watch, "PUT", dialect->token_path,
                   (struct http_header){str_from(dialect->token_life_header),
                                        str_from(dialect->token_life_seconds)},
                   spot_watcher_on_token);
    } else {
        ask_page(watch, &dialect->final);
    }
}

/* ---- exit ---- */

/* Ray stops and starts while its node is set up again, so short absences are tolerated. Once Ray is
 * stopped, there is nothing to watch. */
static void look_for_ray(void *context)
{
    struct spot_watcher_watch *watch = context;
    int64_t now = loop_now_ms(watch->loop);
    if (!raylet_is_one(watch->raylet)) {
        watch->raylet = raylet_find();
    }
    if (watch->raylet > 0) {
        watch->ray_seen_ms = now;
    } else if (now - watch->ray_seen_ms > RAY_GONE_MS) {
        LOG(watch, INFO, "Ray is no longer running here; exiting");
        loop_stop(watch->loop);
        return;
    }
    loop_timer_start(watch->look, RAY_LOOK_MS);
}

static void spot_watcher_on_end(void *context, int number)
{
    struct spot_watcher_watch *watch = context;
    (void)number;
    LOG(watch, INFO, "exiting on request");
    loop_stop(watch->loop);
}

/* ---- entry points ---- */

static void spot_watcher_run(struct spot_watcher_watch *watch)
{
    watch->notifier = drain_notifier_open(&(struct drain_notifier_setup){
        .loop = watch->loop,
        .http = watch->http,
        .log = watch->log,
        .gcs = watch->setup->gcs,
        .token_file = watch->setup->token_file,
        .instance_id = watch->setup->instance_id,
    });
    watch->poll = loop_timer_new(watch->loop, spot_watcher_request, watch);
    watch->look = loop_timer_new(watch->loop, look_for_ray, watch);
    watch->ray_seen_ms = loop_now_ms(watch->loop);
    LOG(watch, INFO, "watching instance=%s at=%s gcs=%s", watch->setup->instance_id,
        watch->endpoint, watch->setup->gcs);
    loop_timer_start(watch->poll, 0);
    loop_timer_start(watch->look, RAY_LOOK_MS);
    loop_run(watch->loop);
    loop_timer_free(watch->poll);
    loop_timer_free(watch->look);
    drain_notifier_close(watch->notifier);
}

bool watch_run(const struct node_watch_setup *setup, const struct log *log, struct err *err)
{
    const struct http_limits limits = {.calls_max = 4, .idle_connections = 2};
    struct spot_watcher_watch watch = {
        .setup = setup,
        .log = log,
        .dialect = metadata_api(str_from(setup->provider)),
    };
    if (!watch.dialect) {
        return err_set(err, ERR_USAGE, "the provider \"%s\" sends no interruption notices",
                       setup->provider);
    }
    notice_endpoint(watch.dialect, getenv(watch.dialect->endpoint_variable), watch.endpoint,
                    sizeof(watch.endpoint));
    bool ok = loop_open(&clock_of_machine, &watch.loop, err) &&
              http_open(watch.loop, &limits, &watch.http, err) &&
              loop_signal_new(watch.loop, SIGTERM, spot_watcher_on_end, &watch, &watch.end, err);
    if (ok) {
        spot_watcher_run(&watch);
        loop_signal_free(watch.end);
    }
    if (watch.http) {
        http_close(watch.http);
    }
    if (watch.loop) {
        loop_close(watch.loop);
    }
    return ok;
}
