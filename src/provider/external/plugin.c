/* plugin.c: the child process, and the requests that wait, are sent, or are answered. */
#include "provider/external/plugin.h"

#include "io/json_line.h"
#include "io/xalloc.h"

#include <stdarg.h>
#include <string.h>

enum {
    DEADLINE_MS = 60 * 1000,
    PAUSE_MS = 500,
    PAUSE_DOUBLINGS = 6,
    GRACE_MS = 1000,
    TAIL_LINES = 3,
    TAIL_BYTES = 120,
    WHY_BYTES = 200,
};

struct plugin_list {
    struct plugin_call *first, *last;
};

struct plugin_call {
    struct plugin *plugin;
    struct plugin_list *list;
    struct plugin_call *next, *before;
    const char *op;
    json_t *request;
    struct loop_timer *timer; /* while it is sent */
    uint64_t id;
    plugin_may_fn *may;
    plugin_done_fn *done;
    void *context;
    struct plugin_reply reply;
};

struct plugin {
    struct plugin_setup setup;
    struct arena arena; /* of the greeting */
    struct plugin_hello hello;
    struct plugin_list waiting, sent, answered;
    size_t sent_count;
    struct loop_task deliver;
    struct child *child;
    struct loop_timer *timer; /* the deadline of hello, or the pause before a start */
    uint64_t last_id, hello_id;
    bool is_ready;   /* has replied to hello */
    bool has_worked; /* some start succeeded */
    int failures;    /* in a row */
    int64_t starts_at_ms;
    char tail[TAIL_LINES][TAIL_BYTES + 1]; /* last lines of its standard error */
    size_t tail_count;
};

/* ---- lists ---- */

static void call_unlink(struct plugin_call *call)
{
    *(call->before ? &call->before->next : &call->list->first) = call->next;
    *(call->next ? &call->next->before : &call->list->last) = call->before;
    call->plugin->sent_count -= call->list == &call->plugin->sent;
    loop_timer_free(call->timer);
    call->timer = NULL;
}

static void call_link(struct plugin_call *call, struct plugin_list *list, bool is_first)
{
    call->list = list;
    call->next = is_first ? list->first : NULL;
    call->before = is_first ? NULL : list->last;
    *(call->before ? &call->before->next : &list->first) = call;
    *(call->next ? &call->next->before : &list->last) = call;
    call->plugin->sent_count += list == &call->plugin->sent;
}

static void call_free(struct plugin_call *call)
{
    json_decref(call->request);
    json_decref(call->reply.body);
    free(call);
}

void plugin_drop(struct plugin_call *call)
{
    if (call->list == &call->plugin->sent) {
        call->done = NULL; /* its reply is still expected */
        return;
    }
    call_unlink(call);
    call_free(call);
}

/* ---- answers ---- */

static void on_deliver(void *context)
{
    struct plugin *plugin = context;
    struct plugin_call *call = plugin->answered.first;
    if (!call) {
        return; /* it was dropped */
    }
    call_unlink(call);
    if (plugin->answered.first) {
        loop_defer(plugin->setup.loop, &plugin->deliver);
    }
    plugin_done_fn *done = call->done;
    if (done) {
        done(call->context, &call->reply); /* may free the plug-in */
    }
    call_free(call);
}

static void plugin_answer(struct plugin_call *call, const struct plugin_reply *reply)
{
    struct plugin *plugin = call->plugin;
    call_unlink(call);
    call->reply = *reply;
    call_link(call, &plugin->answered, false);
    loop_defer(plugin->setup.loop, &plugin->deliver);
}

static void answer_all(struct plugin_list *list, enum outcome outcome, const struct err *err)
{
    while (list->first) {
        plugin_answer(list->first, &(struct plugin_reply){.outcome = outcome, .err = *err});
    }
}

/* ---- the end of a process ---- */

static void plugin_push(struct plugin *plugin);

static void add_tail(const struct plugin *plugin, struct err *err)
{
    size_t used = strlen(err->text);
    size_t shown = plugin->tail_count < TAIL_LINES ? plugin->tail_count : TAIL_LINES;
    for (size_t i = 0; i < shown; i++) {
        const char *line = plugin->tail[(plugin->tail_count - shown + i) % TAIL_LINES];
        int more = snprintf(err->text + used, sizeof(err->text) - used, "%s%s",
                            i == 0 ? ". Its last output: " : " | ", line);
        used += more > 0 ? (size_t)more : 0;
        used = used < sizeof(err->text) ? used : sizeof(err->text) - 1;
    }
}

/* Ends the process. A request that was sent has an unknown outcome. The next process gets those
 * that wait. They fail with `refusal` if this process did not reply to hello, or the one before
 * failed too: a wait has an end. */
static void plugin_fail(struct plugin *plugin, enum outcome refusal, const struct err *why)
{
    int doublings = plugin->failures < PAUSE_DOUBLINGS ? plugin->failures : PAUSE_DOUBLINGS;
    bool was_ready = plugin->is_ready;
    if (plugin->child) {
        child_forget(plugin->child);
    }
    plugin->child = NULL;
    plugin->is_ready = false;
    plugin->failures++;
    plugin->starts_at_ms = loop_now_ms(plugin->setup.loop) + (plugin->setup.pause_ms << doublings);
    loop_timer_stop(plugin->timer);
    answer_all(&plugin->sent, OUTCOME_UNKNOWN, why);
    if (!was_ready || plugin->failures > 1) {
        answer_all(&plugin->waiting, refusal, why);
    }
    plugin_push(plugin);
}

static void plugin_break(struct plugin *plugin, enum err_kind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void plugin_break(struct plugin *plugin, enum err_kind kind, const char *fmt, ...)
{
    char why[WHY_BYTES];
    struct err err;
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    err_set(&err, kind, "%s %s", plugin->setup.what, why);
    add_tail(plugin, &err);
    plugin_fail(plugin, plugin->has_worked ? OUTCOME_THROTTLED : OUTCOME_INVALID, &err);
}

static void on_child_done(void *context, const struct child_result *result)
{
    struct plugin *plugin = context;
    plugin->child = NULL; /* freed when this returns */
    plugin_break(plugin, ERR_UNAVAILABLE, "ended: %s",
                 result->err.kind != ERR_NONE ? result->err.text : "it exited with status 0");
}

/* ---- lines ---- */

static void on_hello(struct plugin *plugin, struct plugin_reply *reply)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct plugin_hello hello;
    struct err err;
    if (reply->outcome != OUTCOME_DONE) {
        bool is_certain = reply->outcome != OUTCOME_UNKNOWN && reply->outcome != OUTCOME_NOT_FOUND;
        plugin_fail(plugin, is_certain ? reply->outcome : OUTCOME_THROTTLED, &reply->err);
        return;
    }
    if (!plugin_hello_read(reply->body, &arena, &hello, &err)) {
        plugin_break(plugin, ERR_PROTOCOL, "cannot be used: in its reply to hello, %s", err.text);
        return;
    }
    struct arena old = plugin->arena;
    plugin->arena = arena;
    arena = old;
    plugin->hello = hello;
    plugin->is_ready = plugin->has_worked = true;
    loop_timer_stop(plugin->timer);
}

static void take_reply(struct plugin *plugin, struct plugin_reply *reply)
{
    if (!plugin->is_ready && reply->id == plugin->hello_id) {
        on_hello(plugin, reply);
        json_decref(reply->body);
        return;
    }
    for (struct plugin_call *call = plugin->sent.first; call; call = call->next) {
        if (call->id == reply->id) {
            plugin->failures = 0;
            plugin_answer(call, reply);
            return;
        }
    }
    json_decref(reply->body);
    plugin_break(plugin, ERR_PROTOCOL, "replied to request %llu, which does not wait for a reply",
                 (unsigned long long)reply->id);
}

static void plugin_on_line(void *context, enum child_stream stream, struct str line)
{
    struct plugin *plugin = context;
    struct plugin_reply reply;
    struct err err;
    if (stream == CHILD_STDERR) {
        if (line.len > 0) {
            char *kept = plugin->tail[plugin->tail_count++ % TAIL_LINES];
            snprintf(kept, TAIL_BYTES + 1, "%.*s", STR_ARG(line));
            plugin_make_visible(kept);
        }
        return;
    }
    if (!plugin->child) {
        return; /* ended by an earlier line */
    }
    if (line.len > PLUGIN_LINE_MAX) {
        plugin_break(plugin, ERR_PROTOCOL, "sent a line longer than 16 MiB");
    } else if (!plugin_reply_read(line, &reply, &err)) {
        plugin_break(plugin, ERR_PROTOCOL,
                     "sent a line on standard output that is not a reply (%s)", err.text);
    } else {
        take_reply(plugin, &reply);
        plugin_push(plugin);
    }
}

/* ---- sending ---- */

static void on_deadline(void *context)
{
    struct plugin_call *call = context;
    plugin_break(call->plugin, ERR_TIMEOUT, "did not reply to %s within %lld s", call->op,
                 (long long)(call->plugin->setup.deadline_ms / 1000));
}

static bool plugin_write(struct plugin *plugin, uint64_t id, const char *op, json_t *request)
{
    AUTO_BUF struct buf line;
    buf_init(&line, CHILD_INPUT_MAX);
    json_object_set_new(request, "id", json_integer((json_int_t)id));
    json_object_set_new(request, "op", json_string(op));
    bool is_whole = json_add(request, &line);
    buf_add_char(&line, '\n');
    return is_whole && !line.is_full && child_write(plugin->child, buf_str(&line));
}

static void send_next(struct plugin *plugin)
{
    struct plugin_call *call = plugin->waiting.first;
    struct plugin_reply reply = {.outcome = OUTCOME_INVALID};
    if (call->may && !call->may(call->context)) {
        reply.outcome = OUTCOME_NO_LEASE;
        err_set(&reply.err, ERR_EXISTS, "this process does not hold the cluster's lease");
        plugin_answer(call, &reply);
        return;
    }
    call->id = ++plugin->last_id;
    if (!plugin_write(plugin, call->id, call->op, call->request)) {
        err_set(
            &reply.err, ERR_INTERNAL,
            "a request to the plug-in is larger than 4 MB, or the plug-in does not read requests");
        plugin_answer(call, &reply);
        return;
    }
    call_unlink(call);
    call_link(call, &plugin->sent, false);
    call->timer = loop_timer_new(plugin->setup.loop, on_deadline, call);
    loop_timer_start(call->timer, plugin->setup.deadline_ms);
}

static void plugin_start(struct plugin *plugin)
{
    const struct plugin_setup *setup = &plugin->setup;
    json_t *hello = json_object();
    plugin->tail_count = 0;
    plugin->child = child_start(
        setup->children, &(struct child_spec){
                             .argv = setup->argv,
                             .env_extra = setup->env,
                             .is_fed = true,
                             .output = {{.bytes_max = PLUGIN_LINE_MAX + 1, .line = plugin_on_line},
                                        {.bytes_max = TAIL_BYTES, .line = plugin_on_line}},
                             .grace_ms = GRACE_MS,
                             .done = on_child_done,
                             .context = plugin,
                         });
    json_object_set_new(hello, "version", json_integer(PLUGIN_VERSION));
    json_put_text(hello, "cluster", str_from(setup->cluster));
    json_object_set_new(hello, "provider", json_deep_copy(setup->settings));
    if (setup->more) {
        json_object_set_new(hello, "ray", json_deep_copy(setup->more));
    }
    plugin->hello_id = ++plugin->last_id;
    bool is_sent = plugin_write(plugin, plugin->hello_id, "hello", hello);
    json_decref(hello);
    if (is_sent) {
        loop_timer_start(plugin->timer, setup->deadline_ms);
    } else {
        plugin_break(plugin, ERR_INTERNAL, "cannot be started: its settings are larger than 4 MB");
    }
}

/* Does what is due: sends waiting requests, or starts the program for them. */
static void plugin_push(struct plugin *plugin)
{
    int64_t wait_ms = plugin->starts_at_ms - loop_now_ms(plugin->setup.loop);
    while (plugin->is_ready && plugin->waiting.first &&
           plugin->sent_count < (size_t)plugin->hello.parallel) {
        send_next(plugin);
    }
    if (plugin->child || !plugin->waiting.first) {
        return;
    }
    if (plugin->failures > 0 && wait_ms > 0) {
        loop_timer_start(plugin->timer, wait_ms);
    } else {
        plugin_start(plugin);
    }
}

static void plugin_on_timer(void *context)
{
    struct plugin *plugin = context;
    if (plugin->child) {
        plugin_break(plugin, ERR_TIMEOUT, "did not reply to hello within %lld s",
                     (long long)(plugin->setup.deadline_ms / 1000));
    } else {
        plugin_push(plugin);
    }
}

struct plugin_call *plugin_ask(struct plugin *plugin, const char *op, json_t *fields,
                               plugin_may_fn *may, plugin_done_fn *done, void *context)
{
    struct plugin_call *call = HEAP_NEW(struct plugin_call);
    *call = (struct plugin_call){.plugin = plugin,
                                 .op = op,
                                 .request = fields,
                                 .may = may,
                                 .done = done,
                                 .context = context};
    call_link(call, &plugin->waiting, strcmp(op, "swap") == 0);
    plugin_push(plugin);
    return call;
}

/* ---- lifetime ---- */

struct plugin *plugin_new(const struct plugin_setup *setup)
{
    struct plugin *plugin = HEAP_NEW(struct plugin);
    plugin->setup = *setup;
    plugin->setup.deadline_ms = setup->deadline_ms > 0 ? setup->deadline_ms : DEADLINE_MS;
    plugin->setup.what = setup->what ? setup->what : "the plug-in (provider.command)";
    plugin->setup.pause_ms = setup->pause_ms > 0 ? setup->pause_ms : PAUSE_MS;
    plugin->deliver = (struct loop_task){.run = on_deliver, .context = plugin};
    plugin->timer = loop_timer_new(setup->loop, plugin_on_timer, plugin);
    arena_init(&plugin->arena);
    return plugin;
}

void plugin_free(struct plugin *plugin)
{
    struct plugin_list *const lists[] = {&plugin->waiting, &plugin->sent, &plugin->answered};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        while (lists[i]->first) {
            struct plugin_call *call = lists[i]->first;
            call_unlink(call);
            call_free(call);
        }
    }
    if (plugin->child) {
        child_forget(plugin->child);
    }
    loop_later_cancel(plugin->setup.loop, &plugin->deliver);
    loop_timer_free(plugin->timer);
    arena_clear(&plugin->arena);
    free(plugin);
}

const struct plugin_hello *plugin_greeting(const struct plugin *plugin)
{
    return plugin->has_worked ? &plugin->hello : NULL;
}
