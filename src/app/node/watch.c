/*
 * watch.c: asks the metadata service once a second, and hands on what it says.
 *
 * A question that gets no answer is asked again; nothing is concluded from it.
 */
#include "app/node/watch.h"

#include "app/node/notice.h"
#include "app/node/raylet.h"
#include "app/node/tell.h"
#include "io/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_MS = 1000,
    POLL_FAILED_MS = 5000, /* when nobody has answered for a while */
    FAILURES_MAX = 30,
    CONNECT_MS = 1000,
    ANSWER_MS = 2000,
    RAY_LOOK_MS = 30 * 1000,
    RAY_GONE_MS = 10 * 60 * 1000, /* longer than any `ray stop` and the start behind it */
    ENDPOINT_BYTES = 512,
    TOKEN_BYTES = 1025,
    URL_BYTES = 1024,
    WORDS_BYTES = 200,
};

struct watch {
    const struct node_watch_setup *setup;
    const struct log *log;
    const struct notice_dialect *dialect;
    struct loop *loop;
    struct http *http;
    struct loop_timer *poll, *look;
    struct loop_signal *end;
    struct teller *teller;
    const struct notice_page *page; /* that is being asked for */
    struct notice seen;             /* in this round */
    struct notice told;             /* or being told */
    uint32_t failures;              /* in a row */
    int64_t raylet;                 /* its process id; 0: none was found */
    int64_t ray_seen_ms;            /* monotonic */
    char endpoint[ENDPOINT_BYTES];
    char token[TOKEN_BYTES];
};

#define LOG(watch, level, ...) log_write((watch)->log, LOG_LEVEL_##level, __VA_ARGS__)

static void ask(void *context);
static void ask_page(struct watch *watch, const struct notice_page *page);

/* ---- what was seen ---- */

static void tell(struct watch *watch)
{
    AUTO_BUF struct buf until;
    buf_init(&until, WORDS_BYTES);
    clock_add_utc(&until, watch->seen.until_ms);
    LOG(watch, WARNING, "%s until=%.*s",
        watch->seen.kind == NOTICE_FINAL ? "notice: the cloud takes this machine away"
                                         : "the cloud recommends to replace this machine",
        STR_ARG(buf_str(&until)));
    watch->told = watch->seen;
    teller_tell(watch->teller, &watch->told);
}

/* A machine that was stopped and started again may find its notice gone. */
static void forget(struct watch *watch)
{
    LOG(watch, INFO, "the notice is gone");
    watch->told = (struct notice){NOTICE_NONE, 0};
    teller_stop(watch->teller);
}

static void end_round(struct watch *watch)
{
    if (notice_is_news(&watch->seen, &watch->told)) {
        tell(watch);
    } else if (watch->seen.kind == NOTICE_NONE && watch->told.kind != NOTICE_NONE) {
        forget(watch);
    }
    loop_timer_start(watch->poll, POLL_MS);
}

/* Nothing is concluded from a round that broke off. */
static void break_round(struct watch *watch, const char *why)
{
    watch->failures++;
    if (watch->failures == 1 || watch->failures == FAILURES_MAX) {
        LOG(watch, WARNING, "the metadata service cannot be asked failures=%u: %s", watch->failures,
            why);
    }
    loop_timer_start(watch->poll, watch->failures < FAILURES_MAX ? POLL_MS : POLL_FAILED_MS);
}

/* ---- asking ---- */

static void start_call(struct watch *watch, const char *method, const char *path,
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

static void on_page(void *context, const struct http_reply *reply)
{
    struct watch *watch = context;
    const struct notice_page *page = watch->page;
    struct notice notice;
    struct err err;
    bool is_stale_token = reply->outcome == HTTP_REPLIED && reply->status == 401;
    if (is_stale_token) {
        watch->token[0] = '\0'; /* the next round has a new one */
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

static void ask_page(struct watch *watch, const struct notice_page *page)
{
    const struct notice_dialect *dialect = watch->dialect;
    const char *value = dialect->header_value ? dialect->header_value : watch->token;
    watch->page = page;
    start_call(watch, "GET", page->path,
               (struct http_header){str_from(dialect->header), str_from(value)}, on_page);
}

static void on_token(void *context, const struct http_reply *reply)
{
    struct watch *watch = context;
    struct str token = str_trim(reply->body);
    if (reply->outcome != HTTP_REPLIED) {
        break_round(watch, reply->err.text);
    } else if (reply->status != 200 || !notice_is_token(token)) {
        break_round(watch, "it gives no token");
    } else {
        snprintf(watch->token, sizeof(watch->token), "%.*s", STR_ARG(token));
        ask_page(watch, &watch->dialect->final);
    }
}

static void ask(void *context)
{
    struct watch *watch = context;
    const struct notice_dialect *dialect = watch->dialect;
    watch->seen = (struct notice){NOTICE_NONE, 0};
    if (dialect->token_path && watch->token[0] == '\0') {
        start_call(watch, "PUT", dialect->token_path,
                   (struct http_header){str_from(dialect->token_life_header),
                                        str_from(dialect->token_life_seconds)},
                   on_token);
    } else {
        ask_page(watch, &dialect->final);
    }
}

/* ---- the end ---- */

/* Ray is stopped and started when its node is set up again, which is waited out. Where it has gone
 * for good nothing needs to be watched. */
static void look_for_ray(void *context)
{
    struct watch *watch = context;
    int64_t now = loop_now_ms(watch->loop);
    if (!raylet_is_one(watch->raylet)) {
        watch->raylet = raylet_find();
    }
    if (watch->raylet > 0) {
        watch->ray_seen_ms = now;
    } else if (now - watch->ray_seen_ms > RAY_GONE_MS) {
        LOG(watch, INFO, "no Ray runs here any more: ending");
        loop_stop(watch->loop);
        return;
    }
    loop_timer_start(watch->look, RAY_LOOK_MS);
}

static void on_end(void *context, int number)
{
    struct watch *watch = context;
    (void)number;
    LOG(watch, INFO, "told to end");
    loop_stop(watch->loop);
}

/* ---- the whole ---- */

static void run(struct watch *watch)
{
    watch->teller = teller_open(&(struct teller_setup){
        .loop = watch->loop,
        .http = watch->http,
        .log = watch->log,
        .gcs = watch->setup->gcs,
        .token_file = watch->setup->token_file,
        .instance_id = watch->setup->instance_id,
    });
    watch->poll = loop_timer_new(watch->loop, ask, watch);
    watch->look = loop_timer_new(watch->loop, look_for_ray, watch);
    watch->ray_seen_ms = loop_now_ms(watch->loop);
    LOG(watch, INFO, "watching instance=%s at=%s gcs=%s", watch->setup->instance_id,
        watch->endpoint, watch->setup->gcs);
    loop_timer_start(watch->poll, 0);
    loop_timer_start(watch->look, RAY_LOOK_MS);
    loop_run(watch->loop);
    loop_timer_free(watch->poll);
    loop_timer_free(watch->look);
    teller_close(watch->teller);
}

bool watch_run(const struct node_watch_setup *setup, const struct log *log, struct err *err)
{
    const struct http_limits limits = {.calls_max = 4, .idle_connections = 2};
    struct watch watch = {
        .setup = setup,
        .log = log,
        .dialect = notice_dialect(str_from(setup->provider)),
    };
    if (!watch.dialect) {
        return err_set(err, ERR_USAGE, "machines of \"%s\" get no notices", setup->provider);
    }
    notice_endpoint(watch.dialect, getenv(watch.dialect->endpoint_variable), watch.endpoint,
                    sizeof(watch.endpoint));
    bool ok = loop_open(&clock_of_machine, &watch.loop, err) &&
              http_open(watch.loop, &limits, &watch.http, err) &&
              loop_signal_new(watch.loop, SIGTERM, on_end, &watch, &watch.end, err);
    if (ok) {
        run(&watch);
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
