/* trainer_demand.c: the connection to the autoscaler, and what is sent and said. */
#include "app/train/trainer_demand.h"

#include "app/head/ctl/ctl.h"
#include "base/attr.h"
#include "io/line_socket.h"
#include "io/xalloc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEAT_MS = 5000,
    RETRY_FIRST_MS = 1000,
    RETRY_MOST_MS = 30 * 1000,
    REQUEST_BYTES = 4096,
    WHY_BYTES = 400,
    SESSION_BYTES = 100,
    TEXT_BYTES = 1024,
};

struct trainer_demand {
    struct trainer_demand_setup setup;
    struct loop_timer *timer; /* repeats the request, or connects again */
    struct line_link *link;
    int64_t retry_ms;
    int64_t sent; /* -1: nothing on this connection, or in this session */
    int64_t sent_leaving;
    int64_t said; /* the last need that the user knows */
    bool is_greeted;
    bool is_accepted;    /* the last request */
    bool has_said_alone; /* that there is no autoscaler */
    char why[WHY_BYTES]; /* the last reason that the user knows */
    char session[SESSION_BYTES];
};

/* A replica without resources fits everywhere. */
static bool has_resources(const struct trainer_demand *demand)
{
    return demand->setup.cpus > 0 || demand->setup.gpus > 0;
}

static int64_t demand_need(const struct trainer_demand *demand)
{
    return has_resources(demand) ? demand->setup.need(demand->setup.context) : 0;
}

static int64_t demand_leaving(const struct trainer_demand *demand)
{
    return has_resources(demand) ? demand->setup.leaving(demand->setup.context) : 0;
}

static void demand_say(struct trainer_demand *demand, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void demand_say(struct trainer_demand *demand, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    demand->setup.say(demand->setup.context, text);
}

/* ---- sending ---- */

static void demand_accepted(struct trainer_demand *demand, int64_t need)
{
    demand->is_accepted = true;
    if (need > demand->said) {
        demand_say(demand, "asked the autoscaler for room for %" PRId64 " more replica%s", need,
                   need == 1 ? "" : "s");
    }
    demand->said = need;
}

static void demand_send(struct trainer_demand *demand)
{
    const struct trainer_demand_setup *setup = &demand->setup;
    struct ray_quantity amounts[2];
    struct gcs_bundle bundle = {
        .amounts = amounts, .count = demand_need(demand), .leaving = demand_leaving(demand)};
    AUTO_BUF struct buf out;
    buf_init(&out, REQUEST_BYTES);
    if (setup->cpus > 0) {
        amounts[bundle.amount_count++] = (struct ray_quantity){STR("CPU"), setup->cpus};
    }
    if (setup->gpus > 0) {
        amounts[bundle.amount_count++] = (struct ray_quantity){STR("GPU"), setup->gpus};
    }
    struct ctl_request request = {.what = STR("train-demand"),
                                  .job = str_from(setup->job),
                                  .session = str_from(demand->session),
                                  .bundles = &bundle,
                                  .bundle_count = bundle.count > 0 || bundle.leaving > 0};
    ctl_request_write(&request, &out);
    demand->sent = bundle.count;
    demand->sent_leaving = bundle.leaving;
    line_link_write(demand->link, buf_str(&out));
}

void trainer_demand_update(struct trainer_demand *demand)
{
    if (!demand->is_greeted || demand->session[0] == '\0') {
        return;
    }
    /* The first one on a connection is sent in any case: the service may still have the request of
     * a trainer that was killed, or of this one. */
    if (demand_need(demand) != demand->sent || demand_leaving(demand) != demand->sent_leaving) {
        demand_send(demand);
        loop_timer_start(demand->timer, demand->setup.repeat_ms);
    }
}

/* ---- the connection ---- */

static void demand_disconnect(struct trainer_demand *demand)
{
    line_link_close(demand->link);
    demand->link = NULL;
    demand->is_greeted = demand->is_accepted = false;
    demand->sent = -1;
    demand->sent_leaving = 0;
    loop_timer_start(demand->timer, demand->retry_ms);
    demand->retry_ms *= 2;
    demand->retry_ms = demand->retry_ms < RETRY_MOST_MS ? demand->retry_ms : RETRY_MOST_MS;
}

/* Prints this once, and only if the job needs nodes, which is known after Ray's first state. */
static void demand_alone(struct trainer_demand *demand, const char *why)
{
    bool is_known = demand->session[0] != '\0';
    if (!demand->has_said_alone && is_known && demand_need(demand) > 0) {
        demand->has_said_alone = true;
        demand_say(demand,
                   "no autoscaler adds nodes for this job (%s); it uses the nodes that Ray has",
                   why);
    }
}

/* Prints a reason only when it changes. */
static void demand_refused(struct trainer_demand *demand, struct str why)
{
    struct str text = str_sub(why, 0, WHY_BYTES - 1);
    if (demand->sent > 0 && !str_is(text, demand->why)) {
        snprintf(demand->why, sizeof(demand->why), "%.*s", STR_ARG(text));
        demand_say(demand, "the autoscaler cannot add nodes: %s", demand->why);
    }
}

static void demand_answer(struct trainer_demand *demand, const struct ctl_line *line)
{
    if (line->kind == CTL_NODE) {
        demand->setup.node(demand->setup.context, &line->node);
    } else if (line->kind == CTL_ERROR && str_is(line->about, "status")) {
        return; /* prices are not essential */
    } else if (line->kind == CTL_ERROR) {
        demand->is_accepted = false;
        demand_refused(demand, line->text);
    } else if (line->kind == CTL_TEXT) {
        demand->is_accepted = true;
        demand_refused(demand, line->text);
    } else if (line->kind == CTL_DONE) {
        demand_accepted(demand, demand->sent > 0 ? demand->sent : 0);
    }
}

static void demand_on_line(void *context, struct str text)
{
    struct trainer_demand *demand = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct ctl_line line;
    struct err err;
    if (!ctl_line_read(text, &arena, &line, &err)) {
        demand_alone(demand, err.text);
        demand_disconnect(demand);
    } else if (demand->is_greeted) {
        demand_answer(demand, &line);
    } else if (line.kind != CTL_GREETING || !ctl_greeting_check(&line, &err)) {
        demand_alone(demand, line.kind == CTL_GREETING ? err.text : "the service does not answer");
        demand_disconnect(demand);
    } else {
        demand->is_greeted = true;
        demand->retry_ms = demand->setup.retry_ms;
        trainer_demand_update(demand);
    }
}

static void demand_on_end(void *context, const struct err *err)
{
    struct trainer_demand *demand = context;
    if (!demand->is_greeted) {
        demand_alone(demand, err->kind == ERR_NONE ? "the service does not answer"
                                                   : "the Shoal service does not run on this host");
    }
    demand_disconnect(demand);
}

static void demand_connect(struct trainer_demand *demand)
{
    struct line_link_hooks hooks = {demand, demand_on_line, demand_on_end, NULL};
    struct line_link_limits limits = {.line_max = CTL_LINE_BYTES_MAX};
    struct err err;
    if (!line_link_open(demand->setup.loop, demand->setup.socket, &limits, &hooks, &demand->link,
                        &err)) {
        demand->link = NULL;
        demand_alone(demand, err.text);
        demand_disconnect(demand);
    }
}

static void demand_on_timer(void *context)
{
    struct trainer_demand *demand = context;
    if (!demand->link) {
        demand_connect(demand);
    } else if (demand->sent > 0 || demand->sent_leaving > 0) {
        demand_send(demand);
        loop_timer_start(demand->timer, demand->setup.repeat_ms);
    }
}

void trainer_demand_session(struct trainer_demand *demand, struct str session)
{
    if (!str_is(session, demand->session)) {
        snprintf(demand->session, sizeof(demand->session), "%.*s", STR_ARG(session));
        demand->sent = -1;
    }
}

void trainer_demand_ask_nodes(struct trainer_demand *demand)
{
    AUTO_BUF struct buf out;
    buf_init(&out, REQUEST_BYTES);
    if (demand->is_greeted) {
        ctl_request_write(&(struct ctl_request){.what = STR("status")}, &out);
        line_link_write(demand->link, buf_str(&out));
    }
}

bool trainer_demand_is_accepted(const struct trainer_demand *demand)
{
    return demand->is_accepted;
}

struct trainer_demand *trainer_demand_open(const struct trainer_demand_setup *setup)
{
    struct trainer_demand *demand = HEAP_NEW(struct trainer_demand);
    *demand = (struct trainer_demand){.setup = *setup, .sent = -1};
    demand->setup.repeat_ms = setup->repeat_ms > 0 ? setup->repeat_ms : REPEAT_MS;
    demand->setup.retry_ms = setup->retry_ms > 0 ? setup->retry_ms : RETRY_FIRST_MS;
    demand->retry_ms = demand->setup.retry_ms;
    demand->timer = loop_timer_new(setup->loop, demand_on_timer, demand);
    demand_connect(demand);
    return demand;
}

void trainer_demand_close(struct trainer_demand *demand)
{
    if (demand) {
        line_link_close(demand->link);
        loop_timer_free(demand->timer);
        free(demand);
    }
}
