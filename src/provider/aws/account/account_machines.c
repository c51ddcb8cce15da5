/* account_machines.c: DescribeInstances by tag, without terminated instances. */
#include "provider/aws/account/account_machines.h"

#include "io/xalloc.h"
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
    struct instance_list page; /* current page */
    struct instance_list *pages;
    size_t count, capacity;
};

static void free_machines(struct account_machines *machines)
{
    arena_clear(&machines->own_arena);
    free(machines);
}

static void account_machines_finish(struct account_machines *machines,
                                    const struct aws_reply *reply)
{
    size_t count = reply->is_ok ? machines->count : 0;
    machines->done(machines->context, reply, machines->pages, count);
    free_machines(machines);
}

static void account_machines_fail(struct account_machines *machines, const char *why)
{
    struct aws_reply reply = {.error = {.code = STR("BadListing"), .class = AWS_PERMANENT}};
    err_set(&reply.err, ERR_PROTOCOL, "ec2 DescribeInstances in %.*s: %s",
            STR_ARG(machines->region), why);
    account_machines_finish(machines, &reply);
}

/* True if an earlier page had the same token. */
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

static void account_machines_request(struct account_machines *machines, struct str token);

/* Parses during the call, so that a broken reply is retried. */
static bool account_machines_check(void *context, struct str body, struct err *err)
{
    static const char *const prefixes[] = {"ray-", "shoal-", NULL};
    struct account_machines *machines = context;
    struct instance_reply *reply = instance_reply_new(INSTANCES_LISTED, prefixes, machines->arena);
    bool ok = instance_reply_feed(reply, body, err) &&
              instance_reply_end(reply, &machines->page, err);
    instance_reply_free(reply);
    return ok;
}

static void account_machines_on_page(void *context, const struct aws_reply *reply)
{
    struct account_machines *machines = context;
    struct str token = machines->page.next_token;
    machines->call = NULL;
    if (!reply->is_ok) {
        account_machines_finish(machines, reply);
        return;
    }
    ARENA_PUSH(machines->arena, machines->pages, machines->count,
               machines->capacity) = machines->page;
    if (token.len == 0) {
        account_machines_finish(machines, reply);
    } else if (machines->count >= PAGES_MAX) {
        account_machines_fail(machines, "AWS returned too many pages");
    } else if (is_circle(machines, token)) {
        account_machines_fail(machines, "AWS returned the same page token twice");
    } else {
        account_machines_request(machines, token);
    }
}

static void account_machines_request(struct account_machines *machines, struct str token)
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
        .check = account_machines_check,
        .done = account_machines_on_page,
        .context = machines,
    };
    machines->call = aws_call_start(machines->client, &request);
}

/* ---- start and end ---- */

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
    account_machines_request(machines, STR(""));
    return machines;
}

void account_machines_cancel(struct account_machines *machines)
{
    if (machines->call) {
        aws_call_cancel(machines->call);
    }
    free_machines(machines);
}
