/* account_machines.c: DescribeInstances by tag, without those that are gone. */
#include "provider/aws/account/account_machines.h"

#include "io/heap.h"
#include "provider/aws/account/account_read.h"

enum { PAGE_ROWS = 1000, PAGES_MAX = 1000 };

struct account_machines {
    struct aws_client *client;
    struct str region;
    int64_t deadline_ms;
    struct arena *arena;
    account_machines_fn *done;
    void *context;
    struct arena own_arena;
    struct aws_call *call;
    struct instance_list page; /* being read */
    struct instance_list *pages;
    size_t count, capacity;
};

static void free_machines(struct account_machines *machines)
{
    arena_clear(&machines->own_arena);
    free(machines);
}

static void finish(struct account_machines *machines, const struct aws_reply *reply)
{
    size_t count = reply->is_ok ? machines->count : 0;
    machines->done(machines->context, reply, machines->pages, count);
    free_machines(machines);
}

static void fail(struct account_machines *machines, const char *why)
{
    struct aws_reply reply = {.error = {.code = STR("BadListing"), .class = AWS_PERMANENT}};
    err_set(&reply.err, ERR_PROTOCOL, "ec2 DescribeInstances in %.*s: %s",
            STR_ARG(machines->region), why);
    finish(machines, &reply);
}

/* Was this token named by a page before the last? */
static bool is_circle(const struct account_machines *machines, struct str token)
{
    for (size_t i = 0; i + 1 < machines->count; i++) {
        if (str_eq(machines->pages[i].next_token, token)) {
            return true;
        }
    }
    return false;
}

/* ---- one page ---- */

static void ask(struct account_machines *machines, struct str token);

/* Reads within the call, so that a broken reply is asked for again. */
static bool check(void *context, struct str body, struct err *err)
{
    static const char *const prefixes[] = {"ray-", "shoal-", NULL};
    struct account_machines *machines = context;
    struct instance_reply *reply = instance_reply_new(INSTANCES_LISTED, prefixes, machines->arena);
    bool ok = instance_reply_feed(reply, body, err) &&
              instance_reply_end(reply, &machines->page, err);
    instance_reply_free(reply);
    return ok;
}

static void on_page(void *context, const struct aws_reply *reply)
{
    struct account_machines *machines = context;
    struct str token = machines->page.next_token;
    machines->call = NULL;
    if (!reply->is_ok) {
        finish(machines, reply);
        return;
    }
    void *items = machines->pages;
    arena_grow(machines->arena, &items, machines->count, &machines->capacity,
               sizeof(struct instance_list));
    machines->pages = items;
    machines->pages[machines->count++] = machines->page;
    if (token.len == 0) {
        finish(machines, reply);
    } else if (machines->count >= PAGES_MAX) {
        fail(machines, "the listing does not end");
    } else if (is_circle(machines, token)) {
        fail(machines, "the listing goes in a circle");
    } else {
        ask(machines, token);
    }
}

static void ask(struct account_machines *machines, struct str token)
{
    static const struct str tags[] = {{ACCOUNT_TAG_NAME, sizeof(ACCOUNT_TAG_NAME) - 1},
                                      {TAG_CLUSTER_UID, sizeof(TAG_CLUSTER_UID) - 1}};
    static const struct str states[] = {
        {"pending", 7}, {"running", 7}, {"shutting-down", 13}, {"stopping", 8}, {"stopped", 7}};
    struct arena *arena = &machines->own_arena;
    struct param *input = param_new_map(arena);
    struct param *filters = param_add_list(input, "Filters", arena);
    param_add_filter(filters, "tag-key", tags, ARRAY_LEN(tags), arena);
    param_add_filter(filters, "instance-state-name", states, ARRAY_LEN(states), arena);
    param_add_number(input, "MaxResults", PAGE_ROWS, arena);
    if (token.len > 0) {
        param_add_text(input, "NextToken", token, arena);
    }
    struct aws_request request = {
        .service = AWS_EC2,
        .region = machines->region,
        .action = "DescribeInstances",
        .input = input,
        .care = AWS_READ,
        .deadline_ms = machines->deadline_ms,
        .check = check,
        .done = on_page,
        .context = machines,
    };
    machines->call = aws_call_start(machines->client, &request);
}

/* ---- the whole ---- */

struct account_machines *account_machines_start(struct aws_client *client, struct str region,
                                                int64_t deadline_ms, struct arena *arena,
                                                account_machines_fn *done, void *context)
{
    struct account_machines *machines = HEAP_NEW(struct account_machines);
    *machines = (struct account_machines){.client = client,
                                          .deadline_ms = deadline_ms,
                                          .arena = arena,
                                          .done = done,
                                          .context = context};
    arena_init(&machines->own_arena);
    machines->region = arena_str(&machines->own_arena, region);
    ask(machines, STR(""));
    return machines;
}

void account_machines_cancel(struct account_machines *machines)
{
    if (machines->call) {
        aws_call_cancel(machines->call);
    }
    free_machines(machines);
}
