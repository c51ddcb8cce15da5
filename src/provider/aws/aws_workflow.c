/* aws_workflow.c: runs the steps of an operation, with pauses and a deadline. */
#include "provider/aws/aws_workflow.h"

#include "base/require.h"
#include "base/rng.h"
#include "io/xalloc.h"
#include "provider/aws/aws_internal.h"

#include <string.h>

enum { PAUSE_FIRST_MS = 250, PAUSE_MOST_MS = 5000, CALL_MS = 60 * 1000, CALL_LEAST_MS = 1000 };

static void aws_workflow_run(void *context);

/* ---- life cycle ---- */

static void wake(void *context);

static void stop_calls(struct aws_workflow *op)
{
    if (op->call) {
        aws_call_cancel(op->call);
    }
    if (op->pages) {
        aws_pages_cancel(op->pages);
    }
    if (op->http) {
        http_forget(op->http);
    }
    op->call = NULL;
    op->pages = NULL;
    op->http = NULL;
}

/* Called when the provider is closed. */
static void free_it(struct aws_operation *operation)
{
    struct aws_workflow *op = (struct aws_workflow *)operation;
    stop_calls(op);
    if (op->dispose) {
        op->dispose(op);
    }
    loop_later_cancel(op->provider->loop, &op->task);
    loop_timer_free(op->timer);
    arena_clear(&op->arena);
    free(op);
}

void *workflow_new(struct aws_provider *provider, size_t size, const struct aws_step *steps,
                   size_t step_count, int64_t deadline_ms, void (*finish)(struct aws_workflow *op))
{
    require(step_count > 0 && size >= sizeof(struct aws_workflow),
            "an operation has steps and its own data");
    struct aws_workflow *op = heap_zeroed(size);
    op->provider = provider;
    op->finish = finish;
    op->deadline_at = loop_now_ms(provider->loop) + deadline_ms;
    op->task = (struct loop_task){.run = aws_workflow_run, .context = op};
    op->timer = loop_timer_new(provider->loop, wake, op);
    arena_init(&op->arena);
    struct aws_step *copy = ARENA_ARRAY(&op->arena, step_count, struct aws_step);
    memcpy(copy, steps, step_count * sizeof(*copy));
    op->steps = copy;
    op->step_count = step_count;
    aws_operation_add(provider, &op->operation, free_it);
    return op;
}

void workflow_start(struct aws_workflow *op)
{
    loop_defer(op->provider->loop, &op->task);
}

static int64_t workflow_left_ms(const struct aws_workflow *op)
{
    return op->deadline_at - loop_now_ms(op->provider->loop);
}

static void aws_workflow_end(struct aws_workflow *op)
{
    require(!op->call && !op->pages && !op->http, "no call is in flight at the end");
    aws_operation_remove(&op->operation);
    op->finish(op);
    free_it(&op->operation);
}

/* ---- replies ---- */

static void aws_workflow_reject(struct aws_workflow *op, const struct aws_result *result)
{
    const struct aws_reply *reply = result->reply;
    if (reply->is_ok) {
        op->answer.outcome = OUTCOME_UNKNOWN;
        err_set(&op->answer.err, ERR_PROTOCOL, "AWS returned an unexpected response");
        return;
    }
    op->answer = (struct provider_answer){.outcome = reply->error.outcome, .err = reply->err};
}

enum aws_next workflow_fail(struct aws_workflow *op, const struct aws_result *result)
{
    aws_workflow_reject(op, result);
    return NEXT_END;
}

enum aws_next workflow_wait(struct aws_workflow *op, const struct aws_result *result)
{
    aws_workflow_reject(op, result);
    return NEXT_WAIT;
}

enum aws_next workflow_end(struct aws_workflow *op, enum outcome outcome, enum err_kind kind,
                           const char *fmt, ...)
{
    require(outcome < OUTCOME_COUNT, "the outcome of the operation is valid");
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, sizeof(op->answer.err.text));
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    op->is_over = true;
    op->answer.outcome = outcome;
    err_set(&op->answer.err, kind, "%.*s", STR_ARG(buf_str(&text)));
    return NEXT_END;
}

enum aws_next workflow_not_yet(struct aws_workflow *op, const char *why)
{
    op->answer.outcome = OUTCOME_UNKNOWN;
    err_set(&op->answer.err, ERR_UNAVAILABLE, "%s", why);
    return NEXT_WAIT;
}

enum aws_next workflow_goto(struct aws_workflow *op, size_t step)
{
    require(step <= op->step_count, "the step is in this operation, or is its end");
    op->at = step;
    return NEXT_REPEAT;
}

/* ---- next step ---- */

/* Exponential with jitter, so that callers do not synchronize. */
static void aws_workflow_pause(struct aws_workflow *op)
{
    int64_t most = op->pause_ms == 0 ? PAUSE_FIRST_MS : op->pause_ms * 2;
    op->pause_ms = most < PAUSE_MOST_MS ? most : PAUSE_MOST_MS;
    require(op->pause_ms > 0 && op->pause_ms <= PAUSE_MOST_MS, "a pause is within its limits");
    int64_t wait = op->pause_ms / 2 + rng_below(&op->provider->rng, op->pause_ms / 2);
    if (wait >= workflow_left_ms(op)) {
        aws_workflow_end(op);
        return;
    }
    loop_timer_start(op->timer, wait);
}

static void wake(void *context)
{
    aws_workflow_run(context);
}

void workflow_resume(struct aws_workflow *op, enum aws_next turn)
{
    require(!op->call && !op->pages, "the call is complete");
    switch (turn) {
    case NEXT_NEXT:
        op->at++;
        op->pause_ms = 0;
        aws_workflow_run(op);
        return;
    case NEXT_REPEAT:
        aws_workflow_run(op);
        return;
    case NEXT_WAIT:
        aws_workflow_pause(op);
        return;
    case NEXT_END:
        aws_workflow_end(op);
        return;
    }
}

static void aws_workflow_handle(struct aws_workflow *op, const struct aws_result *result)
{
    const struct aws_reply *reply = result->reply;
    if (!reply->is_ok && reply->may_have_acted && !op->is_care_read) {
        op->may_have_acted = true;
    }
    require(op->at < op->step_count, "a reply belongs to a step");
    workflow_resume(op, op->steps[op->at].on_reply(op, result));
}

static void aws_workflow_on_reply(void *context, const struct aws_reply *reply)
{
    struct aws_workflow *op = context;
    struct aws_result result = {.reply = reply};
    struct err err;
    op->call = NULL;
    if (reply->is_ok && !op->is_streamed &&
        !xml_tree_parse(reply->body, &op->arena, &result.root, &err)) {
        /* It may have been carried out, and its reply cannot be used. */
        op->may_have_acted = op->may_have_acted || !op->is_care_read;
        op->answer = (struct provider_answer){.outcome = OUTCOME_UNKNOWN, .err = err};
        workflow_resume(op, NEXT_WAIT);
        return;
    }
    aws_workflow_handle(op, &result);
}

static void aws_workflow_on_pages(void *context, const struct aws_reply *reply,
                                  const struct xml_element *const *roots, size_t count)
{
    struct aws_workflow *op = context;
    struct aws_result result = {.reply = reply, .pages = roots, .page_count = count};
    op->pages = NULL;
    aws_workflow_handle(op, &result);
}

static void aws_workflow_send(struct aws_workflow *op, struct aws_request *request,
                              enum aws_ask ask)
{
    require(!op->call && !op->pages, "an operation sends one call at a time");
    require(request->action, "a request names its action");
    int64_t left = workflow_left_ms(op);
    left = left < CALL_LEAST_MS ? CALL_LEAST_MS : left;
    if (request->deadline_ms == 0) {
        request->deadline_ms = left < CALL_MS ? left : CALL_MS;
    }
    op->is_streamed = request->bytes != NULL;
    op->is_care_read = request->care == AWS_READ;
    if (ask == ASK_PAGES) {
        op->pages = aws_pages_start(op->provider->client, request, aws_workflow_on_pages, op);
        return;
    }
    request->done = aws_workflow_on_reply;
    request->context = op;
    op->call = aws_call_start(op->provider->client, request);
}

static void aws_workflow_run(void *context)
{
    struct aws_workflow *op = context;
    while (op->at < op->step_count && !op->is_over) {
        struct aws_request request = {.service = AWS_EC2};
        op->answer = (struct provider_answer){.outcome = OUTCOME_DONE};
        enum aws_ask ask = op->steps[op->at].ask(op, &request);
        if (ask == ASK_ELSEWHERE) {
            return;
        }
        if (ask != ASK_NOTHING) {
            aws_workflow_send(op, &request, ask);
            return;
        }
        op->at++;
        op->pause_ms = 0;
    }
    aws_workflow_end(op);
}

/* ---- shorthands ---- */

bool result_has_code(const struct aws_result *result, const char *code)
{
    return !result->reply->is_ok && str_is(result->reply->error.code, code);
}

enum aws_ask ask_call(struct aws_request *request, const char *action, const struct param *input)
{
    request->action = action;
    request->input = input;
    request->care = AWS_READ;
    return ASK_CALL;
}

enum aws_ask ask_change(struct aws_request *request, const char *action, const struct param *input)
{
    request->action = action;
    request->input = input;
    request->care = AWS_REPEATABLE;
    return ASK_CALL;
}

enum aws_ask ask_pages(struct aws_request *request, const char *action, const struct param *input)
{
    ask_call(request, action, input);
    return ASK_PAGES;
}

void input_filter(struct param *input, const char *name, struct str value, struct arena *arena)
{
    struct param *filters = param_find(input, "Filters");
    filters = filters ? filters : param_add_list(input, "Filters", arena);
    param_add_filter(filters, name, &value, 1, arena);
}

void input_own_tags(struct param *input, struct aws_provider *provider, const char *kind,
                    struct arena *arena)
{
    struct param *spec = param_add_map(param_add_list(input, "TagSpecifications", arena), "",
                                       arena);
    param_add_text(spec, "ResourceType", str_from(kind), arena);
    struct param *tags = param_add_list(spec, "Tags", arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), provider->uid, arena);
    param_add_tag(tags, STR("ray-cluster-name"), provider->cluster->name, arena);
    param_add_tags(tags, provider_tags(provider->cluster), arena);
}

struct str tag_in(const struct xml_element *item, const char *key)
{
    const struct xml_element *tags = xml_child(item, "tagSet");
    tags = tags ? tags : xml_child(item, "Tags");
    for (const struct xml_element *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        if (str_is(xml_child_text(tag, "key"), key)) {
            return xml_child_text(tag, "value");
        }
        if (str_is(xml_child_text(tag, "Key"), key)) {
            return xml_child_text(tag, "Value");
        }
    }
    return STR("");
}
