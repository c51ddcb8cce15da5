/*
 * aws_script.h: an operation of the provider as a list of steps, each a call of AWS.
 *
 * A step says what to ask and hears the answer; what it returns says how it goes on. Every step can
 * be repeated: what it would make is looked for by name or token first, so an answer that never
 * came, or that cannot be read, is a reason to ask again and nothing else.
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

struct aws_script;

/* What a step wants. */
enum aws_ask {
    ASK_NOTHING,   /* the next step; or the end, after op_end() */
    ASK_CALL,      /* send the request */
    ASK_PAGES,     /* send it page by page */
    ASK_ELSEWHERE, /* op_resume() will be called */
};

/* How it goes on. */
enum aws_turn {
    TURN_NEXT,
    TURN_REPEAT, /* this step, or the one that op_goto() named, at once */
    TURN_WAIT,   /* the same after a pause; the end with the answer as it is when time is up */
    TURN_END,    /* the answer is set */
};

struct aws_heard {
    const struct aws_reply *reply;
    const struct xml_element *root; /* of a call that went well; NULL else */
    const struct xml_element *const *pages;
    size_t page_count;
};

struct aws_step {
    enum aws_ask (*ask)(struct aws_script *op, struct aws_request *request);
    enum aws_turn (*hear)(struct aws_script *op, const struct aws_heard *heard);
};

struct aws_script {
    struct aws_operation operation; /* first */
    struct aws_provider *provider;
    const struct aws_step *steps;
    size_t step_count;
    size_t at;
    struct arena arena; /* everything that the operation needs; gone with it */
    struct provider_answer answer;
    bool is_over;
    bool may_have_acted; /* a call was made of which nobody knows what became */
    bool has_no_cluster; /* there is no anchor: nobody has ever taken this cluster, or it is gone */
    int64_t deadline_at; /* on the loop's clock */
    int64_t pause_ms;
    void (*finish)(struct aws_script *op);  /* tells the caller */
    void (*dispose)(struct aws_script *op); /* frees what is not in the arena; may be NULL */
    struct loop_task task;
    struct loop_timer *timer;
    struct aws_call *call;
    struct aws_pages *pages;
    struct http_call *http;
    bool is_streamed; /* the request under way has a reader of its own */
    bool is_care_read;
};

/* `size` is that of a struct whose first member is the script; the rest of it is zero. The steps
 * are copied. */
void *op_new(struct aws_provider *provider, size_t size, const struct aws_step *steps,
             size_t step_count, int64_t deadline_ms, void (*finish)(struct aws_script *op));
#define OP_NEW(provider, type, steps, deadline_ms, finish) \
    ((type *)op_new(provider, sizeof(type), steps, ARRAY_LEN(steps), deadline_ms, finish))

void op_start(struct aws_script *op); /* calls back from the loop, never from in here */
void op_resume(struct aws_script *op, enum aws_turn turn);

int64_t op_left_ms(const struct aws_script *op);

/* ---- how a step ends ---- */

enum aws_turn op_goto(struct aws_script *op, size_t step);

/* Fills the answer from a refusal and ends, or waits for better times. */
enum aws_turn op_fail(struct aws_script *op, const struct aws_heard *heard);
enum aws_turn op_wait(struct aws_script *op, const struct aws_heard *heard);

/* The same in our own words; TURN_END and TURN_WAIT. */
enum aws_turn op_end(struct aws_script *op, enum outcome outcome, enum err_kind kind,
                     const char *fmt, ...) PRINTF_LIKE(4, 5);
enum aws_turn op_not_yet(struct aws_script *op, const char *why);

/* ---- shorthands ---- */

bool heard_code(const struct aws_heard *heard, const char *code);

/* An EC2 call (or one of IAM) with this input. */
enum aws_ask ask_call(struct aws_request *request, const char *action, const struct param *input);
enum aws_ask ask_change(struct aws_request *request, const char *action, const struct param *input);
enum aws_ask ask_pages(struct aws_request *request, const char *action, const struct param *input);

/* Adds {"Filters": [{"Name": name, "Values": [value]}]}, or one more filter. */
void input_filter(struct param *input, const char *name, struct str value, struct arena *arena);

/* Adds "TagSpecifications" with the tags that all things of the cluster bear. */
void input_own_tags(struct param *input, struct aws_provider *provider, const char *kind,
                    struct arena *arena);

/* The value of a tag in a <tagSet> of EC2 or <Tags> of IAM; empty when it is not there. */
struct str tag_in(const struct xml_element *item, const char *key);
