/*
 * aws_workflow.h: a provider operation as a list of steps, each an AWS call.
 *
 * A step builds a request and handles its result, and returns how to continue. Every step can be
 * repeated: a resource is looked up by name or token before it is created, so a lost or unreadable
 * reply is simply retried.
 */
#pragma once

#include "base/arena.h"
#include "io/http.h"
#include "io/loop.h"
#include "provider/aws/aws_operation.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/client/aws_pages.h"
#include "provider/aws/wire/xml_tree.h"
#include "provider/provider.h"

struct aws_workflow;

/* What a step needs. */
enum aws_ask {
    ASK_NOTHING,   /* go to the next step; or end, after workflow_end() */
    ASK_CALL,      /* send the request */
    ASK_PAGES,     /* send it and collect all pages */
    ASK_ELSEWHERE, /* wait for workflow_resume() */
};

/* How to continue. */
enum aws_next {
    NEXT_NEXT,
    NEXT_REPEAT, /* repeat this step, or go to the one set by workflow_goto(), immediately */
    NEXT_WAIT,   /* repeat after a pause; after the deadline, end with the current answer */
    NEXT_END,    /* end; the answer is set */
};

struct aws_result {
    const struct aws_reply *reply;
    const struct xml_element *root; /* root element of a successful call; otherwise NULL */
    const struct xml_element *const *pages;
    size_t page_count;
};

struct aws_step {
    enum aws_ask (*ask)(struct aws_workflow *op, struct aws_request *request);
    enum aws_next (*on_reply)(struct aws_workflow *op, const struct aws_result *result);
};

struct aws_workflow {
    struct aws_operation operation; /* must be first */
    struct aws_provider *provider;
    const struct aws_step *steps;
    size_t step_count;
    size_t at;
    struct arena arena; /* all memory of the operation; freed with it */
    struct provider_answer answer;
    bool is_over;
    bool may_have_acted; /* a call with unknown outcome was made */
    bool has_no_cluster; /* there is no lease object: the cluster was never created or is deleted */
    int64_t deadline_at; /* on the loop's clock */
    int64_t pause_ms;
    void (*finish)(struct aws_workflow *op);  /* reports the result to the caller */
    void (*dispose)(struct aws_workflow *op); /* frees memory outside the arena; may be NULL */
    struct loop_task task;
    struct loop_timer *timer;
    struct aws_call *call;
    struct aws_pages *pages;
    struct http_call *http;
    bool is_streamed; /* the current request parses its own reply */
    bool is_care_read;
};

/* `size` is the size of a struct that starts with struct aws_workflow; the rest is zeroed. The
 * steps are copied. */
void *workflow_new(struct aws_provider *provider, size_t size, const struct aws_step *steps,
                   size_t step_count, int64_t deadline_ms, void (*finish)(struct aws_workflow *op));
#define WORKFLOW_NEW(provider, type, steps, deadline_ms, finish) \
    ((type *)workflow_new(provider, sizeof(type), steps, ARRAY_LEN(steps), deadline_ms, finish))

void workflow_start(struct aws_workflow *op); /* never calls back from inside */
void workflow_resume(struct aws_workflow *op, enum aws_next turn);

/* ---- results of a step ---- */

enum aws_next workflow_goto(struct aws_workflow *op, size_t step);

/* Sets the answer from a failed call and ends, or waits if it is temporary. */
enum aws_next workflow_fail(struct aws_workflow *op, const struct aws_result *result);
enum aws_next workflow_wait(struct aws_workflow *op, const struct aws_result *result);

/* The same with our own error; NEXT_END and NEXT_WAIT. */
enum aws_next workflow_end(struct aws_workflow *op, enum outcome outcome, enum err_kind kind,
                           const char *fmt, ...) PRINTF_LIKE(4, 5);
enum aws_next workflow_not_yet(struct aws_workflow *op, const char *why);

/* ---- shorthands ---- */

bool result_has_code(const struct aws_result *result, const char *code);

/* An EC2 or IAM call with this input. */
enum aws_ask ask_call(struct aws_request *request, const char *action, const struct param *input);
enum aws_ask ask_change(struct aws_request *request, const char *action, const struct param *input);
enum aws_ask ask_pages(struct aws_request *request, const char *action, const struct param *input);

/* Adds {"Filters": [{"Name": name, "Values": [value]}]}, or one more filter. */
void input_filter(struct param *input, const char *name, struct str value, struct arena *arena);

/* Adds "TagSpecifications" with the tags that all resources of the cluster have. */
void input_own_tags(struct param *input, struct aws_provider *provider, const char *kind,
                    struct arena *arena);

/* The value of a tag in EC2's <tagSet> or IAM's <Tags>; empty if missing. */
struct str tag_in(const struct xml_element *item, const char *key);
