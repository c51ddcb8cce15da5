/* account.c: lists all regions in parallel, several listings per region, volumes after machines. */
#include "provider/aws/account/account.h"

#include "io/xalloc.h"
#include "provider/aws/account/account_machines.h"
#include "provider/aws/account/account_read.h"
#include "provider/aws/account/account_roles.h"
#include "provider/aws/client/aws_pages.h"
#include "provider/aws/wire/sts_reply.h"

#include <stdlib.h>

enum {
    LISTINGS_AT_ONCE = 64, /* EC2 throttles by region, so many regions can be listed at once */
    LISTING_MS = 20 * 1000,
    FILTER_VALUES = 200, /* EC2's limit */
};

/* Where to list the regions if the user has configured none; it is enabled in every account. */
#define HOME_REGION "us-east-1"

enum inquiry_kind {
    LIST_MACHINES,
    LIST_GROUPS,
    LIST_KEYS,
    LIST_TEMPLATES,
    LIST_LOOSE_VOLUMES, /* tagged by us, not attached */
    LIST_VOLUMES,       /* attached to found machines */
    INQUIRY_KIND_COUNT
};

struct inquiry_form {
    const char *action;
    const char *what;
    account_read_fn *read_page; /* NULL: instances, which have their own reader */
};

static const struct inquiry_form forms[INQUIRY_KIND_COUNT] = {
    [LIST_MACHINES] = {"DescribeInstances", "instances", NULL},
    [LIST_GROUPS] = {"DescribeSecurityGroups", "security groups", account_read_groups},
    [LIST_KEYS] = {"DescribeKeyPairs", "key pairs", account_read_keys},
    [LIST_TEMPLATES] = {"DescribeLaunchTemplates", "launch templates", account_read_templates},
    [LIST_LOOSE_VOLUMES] = {"DescribeVolumes", "volumes", account_read_volumes},
    [LIST_VOLUMES] = {"DescribeVolumes", "volumes", account_read_volumes},
};

/* One listing of one region. */
struct inquiry {
    struct aws_account *account;
    enum inquiry_kind kind;
    struct str region;
    const struct param *input;
    struct account_machines *machines; /* the one in progress */
    struct aws_pages *pages;
    bool is_started;
    struct inquiry *next; /* in the list of all inquiries */
};

struct aws_account {
    struct aws_client *client;
    struct loop *loop;
    aws_account_fn *done;
    void *context;
    struct arena *arena;    /* memory of the result */
    struct arena own_arena; /* for requests */
    struct account_basket basket;
    struct account result;
    struct account_gap *gaps;
    size_t gap_count, gap_capacity;
    struct str *blind_regions; /* machines could not be listed */
    size_t blind_count;
    struct err blind_err; /* error of the first blind region */
    bool sees_everywhere;
    struct inquiry *first, *last, *waiting; /* all; and the first not started yet */
    size_t active;                          /* calls and listings in progress */
    struct aws_call *identity_call;
    struct aws_pages *region_pages;
    struct account_roles *roles_call;
    struct loop_task turn;
    struct err err; /* why nothing could be listed */
};

static void free_account(struct aws_account *account)
{
    loop_later_cancel(account->loop, &account->turn);
    arena_clear(&account->own_arena);
    free(account);
}

static void add_gap(struct aws_account *account, struct str region, const char *what,
                    struct str code, const struct err *err)
{
    ARENA_PUSH(account->arena, account->gaps, account->gap_count,
               account->gap_capacity) = (struct account_gap){region, str_from(what),
                                                             arena_str(account->arena, code), *err};
}

/* Called when a call or listing has finished. Continues from the loop, not from inside the
 * callback. */
static void account_settle(struct aws_account *account)
{
    account->active--;
    loop_defer(account->loop, &account->turn);
}

/* ---- creating inquiries ---- */

static void add_inquiry(struct aws_account *account, enum inquiry_kind kind, struct str region,
                        const struct param *input)
{
    struct inquiry *inquiry = ARENA_NEW(&account->own_arena, struct inquiry);
    *inquiry = (struct inquiry){.account = account, .kind = kind, .region = region, .input = input};
    if (account->last) {
        account->last->next = inquiry;
    } else {
        account->first = inquiry;
    }
    account->last = inquiry;
    account->waiting = account->waiting ? account->waiting : inquiry;
}

static void add_region(struct aws_account *account, struct str region)
{
    static const struct str tags[] = {{ACCOUNT_TAG_NAME, sizeof(ACCOUNT_TAG_NAME) - 1},
                                      {TAG_CLUSTER_UID, sizeof(TAG_CLUSTER_UID) - 1}};
    static const struct str loose = {"available", 9};
    struct arena *arena = &account->own_arena;
    add_inquiry(account, LIST_MACHINES, region, NULL);
    for (int kind = LIST_GROUPS; kind <= LIST_LOOSE_VOLUMES; kind++) {
        struct param *input = param_new_map(arena);
        struct param *filters = param_add_list(input, "Filters", arena);
        param_add_filter(filters, "tag-key", tags, ARRAY_LEN(tags), arena);
        if (kind == LIST_LOOSE_VOLUMES) {
            param_add_filter(filters, "status", &loose, 1, arena);
        }
        add_inquiry(account, (enum inquiry_kind)kind, region, input);
    }
}

/* Ray does not tag volumes: they are found through their machines. */
static void account_add_volumes(struct aws_account *account, struct str region, size_t from)
{
    const struct account_finds *finds = &account->basket.finds;
    struct arena *arena = &account->own_arena;
    while (from < finds->machine_count) {
        struct str ids[FILTER_VALUES];
        size_t count = 0;
        while (from < finds->machine_count && count < FILTER_VALUES) {
            ids[count++] = finds->machines[from++].id;
        }
        struct param *input = param_new_map(arena);
        struct param *filters = param_add_list(input, "Filters", arena);
        param_add_filter(filters, "attachment.instance-id", ids, count, arena);
        add_inquiry(account, LIST_VOLUMES, region, input);
    }
}

/* ---- running inquiries ---- */

static void account_on_machines(void *context, const struct aws_reply *reply,
                                const struct instance_list *pages, size_t count)
{
    struct inquiry *inquiry = context;
    struct aws_account *account = inquiry->account;
    size_t from = account->basket.finds.machine_count;
    inquiry->machines = NULL;
    if (!reply->is_ok) {
        add_gap(account, inquiry->region, forms[LIST_MACHINES].what, reply->error.code,
                &reply->err);
        account->blind_err = account->blind_count == 0 ? reply->err : account->blind_err;
        account->blind_regions[account->blind_count++] = inquiry->region;
    }
    for (size_t i = 0; i < count; i++) {
        account_add_machines(&account->basket, inquiry->region, &pages[i]);
    }
    account_add_volumes(account, inquiry->region, from);
    account_settle(account);
}

static void on_things(void *context, const struct aws_reply *reply,
                      const struct xml_element *const *roots, size_t count)
{
    struct inquiry *inquiry = context;
    struct aws_account *account = inquiry->account;
    const struct inquiry_form *form = &forms[inquiry->kind];
    struct account_basket before = account->basket;
    struct err err = reply->err;
    bool ok = reply->is_ok;
    inquiry->pages = NULL;
    for (size_t i = 0; ok && i < count; i++) {
        ok = form->read_page(&account->basket, inquiry->region, roots[i], &err) ||
             err_wrap(&err, "ec2 %s in %.*s", form->action, STR_ARG(inquiry->region));
    }
    if (!ok) {
        account->basket = before; /* discard an incomplete listing */
        add_gap(account, inquiry->region, form->what, reply->error.code, &err);
    }
    account_settle(account);
}

static void start_inquiry(struct inquiry *inquiry)
{
    struct aws_account *account = inquiry->account;
    account->active++;
    inquiry->is_started = true;
    if (inquiry->kind == LIST_MACHINES) {
        inquiry->machines = account_machines_start(account->client, inquiry->region, LISTING_MS,
                                                   account->arena, account_on_machines, inquiry);
        return;
    }
    struct aws_request request = {
        .service = AWS_EC2,
        .region = inquiry->region,
        .action = forms[inquiry->kind].action,
        .input = inquiry->input,
        .care = AWS_READ,
        .deadline_ms = LISTING_MS,
    };
    inquiry->pages = aws_pages_start(account->client, &request, on_things, inquiry);
}

/* ---- identity and regions ---- */

static void on_identity(void *context, const struct aws_reply *reply)
{
    struct aws_account *account = context;
    struct sts_identity identity;
    struct err err;
    account->identity_call = NULL;
    if (reply->is_ok && sts_identity_read(reply->body, account->arena, &identity, &err)) {
        account->result.id = identity.account;
    }
    account_settle(account);
}

static void start_identity(struct aws_account *account, struct str region)
{
    struct aws_request request = {
        .service = AWS_STS,
        .region = region,
        .action = "GetCallerIdentity",
        .care = AWS_READ,
        .deadline_ms = LISTING_MS,
        .done = on_identity,
        .context = account,
    };
    account->active++;
    account->identity_call = aws_call_start(account->client, &request);
}

static void on_roles(void *context, const struct account_roles_answer *answer)
{
    struct aws_account *account = context;
    account->roles_call = NULL;
    for (size_t i = 0; answer->is_ok && i < answer->count; i++) {
        account_add_thing(&account->basket, &answer->things[i]);
    }
    if (!answer->is_ok) {
        add_gap(account, STR(""), "roles", answer->code, &answer->err);
    }
    account_settle(account);
}

static void start_roles(struct aws_account *account, struct str region)
{
    struct account_roles_setup setup = {account->client, account->loop, region, LISTING_MS,
                                        account->arena};
    account->active++;
    account->roles_call = account_roles_start(&setup, on_roles, account);
}

static void take_regions(struct aws_account *account, const struct str *regions, size_t count)
{
    account->result.regions = regions;
    account->result.region_count = count;
    account->blind_regions = ARENA_ARRAY(account->arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        add_region(account, regions[i]);
    }
}

static void on_regions(void *context, const struct aws_reply *reply,
                       const struct xml_element *const *roots, size_t count)
{
    struct aws_account *account = context;
    struct str *regions;
    size_t region_count;
    account->region_pages = NULL;
    if (!reply->is_ok) {
        account->err = reply->err;
    } else if (count == 1 && account_read_regions(roots[0], account->arena, &regions, &region_count,
                                                  &account->err)) {
        account->sees_everywhere = true;
        take_regions(account, regions, region_count);
    }
    account_settle(account);
}

static void start_regions(struct aws_account *account, struct str region)
{
    struct aws_request request = {
        .service = AWS_EC2,
        .region = region,
        .action = "DescribeRegions",
        .care = AWS_READ,
        .deadline_ms = LISTING_MS,
    };
    account->active++;
    account->region_pages = aws_pages_start(account->client, &request, on_regions, account);
}

/* ---- start and end ---- */

/* Makes the order independent of the order of replies. */
static int compare_gaps(const void *left, const void *right)
{
    const struct account_gap *a = left;
    const struct account_gap *b = right;
    int order = str_cmp(a->region, b->region);
    return order ? order : str_cmp(a->what, b->what);
}

static void account_finish(struct aws_account *account)
{
    struct account *result = &account->result;
    struct account_cluster *clusters;
    /* If no region could list its machines, fail with the first error. */
    if (account->err.kind == ERR_NONE && account->blind_count == result->region_count) {
        account->err = account->blind_err;
    }
    if (account->gap_count > 1) {
        qsort(account->gaps, account->gap_count, sizeof(struct account_gap), compare_gaps);
    }
    if (account->err.kind != ERR_NONE) {
        account->done(account->context, NULL, &account->err);
        free_account(account);
        return;
    }
    struct account_finds finds = account->basket.finds;
    finds.blind_regions = account->blind_regions;
    finds.blind_count = account->blind_count;
    finds.sees_everywhere = account->sees_everywhere;
    finds.now = result->now = aws_client_now(account->client);
    account_gather(&finds, account->arena, &clusters, &result->cluster_count);
    result->clusters = clusters;
    result->gaps = account->gaps;
    result->gap_count = account->gap_count;
    account->done(account->context, result, NULL);
    free_account(account);
}

static void account_take_turn(void *context)
{
    struct aws_account *account = context;
    while (account->waiting && account->active < LISTINGS_AT_ONCE) {
        struct inquiry *inquiry = account->waiting;
        account->waiting = inquiry->next;
        start_inquiry(inquiry);
    }
    if (account->active == 0) {
        account_finish(account);
    }
}

struct aws_account *aws_account_start(const struct aws_account_setup *setup, aws_account_fn *done,
                                      void *context)
{
    struct aws_account *account = HEAP_NEW(struct aws_account);
    *account = (struct aws_account){.client = setup->client,
                                    .loop = setup->loop,
                                    .done = done,
                                    .context = context,
                                    .arena = setup->arena,
                                    .basket = {.arena = setup->arena}};
    arena_init(&account->own_arena);
    account->turn = (struct loop_task){.run = account_take_turn, .context = account};
    struct str own = aws_client_region(setup->client);
    struct str region = setup->region_count > 0 ? setup->regions[0]
                        : own.len > 0           ? own
                                                : STR(HOME_REGION);
    start_identity(account, region);
    start_roles(account, region);
    if (setup->region_count > 0) {
        take_regions(account, setup->regions, setup->region_count);
    } else {
        start_regions(account, region);
    }
    loop_defer(setup->loop, &account->turn);
    return account;
}

struct aws_account_progress aws_account_progress(const struct aws_account *account)
{
    struct aws_account_progress progress = {.region = STR("")};
    for (const struct inquiry *inquiry = account->first; inquiry; inquiry = inquiry->next) {
        bool is_open = inquiry->machines || inquiry->pages;
        progress.asked_count++;
        progress.answered_count += inquiry->is_started && !is_open;
        if (is_open && progress.region.len == 0) {
            progress.region = inquiry->region;
        }
    }
    return progress;
}

void aws_account_cancel(struct aws_account *account)
{
    for (struct inquiry *inquiry = account->first; inquiry; inquiry = inquiry->next) {
        if (inquiry->machines) {
            account_machines_cancel(inquiry->machines);
        }
        if (inquiry->pages) {
            aws_pages_cancel(inquiry->pages);
        }
    }
    if (account->roles_call) {
        account_roles_cancel(account->roles_call);
    }
    if (account->identity_call) {
        aws_call_cancel(account->identity_call);
    }
    if (account->region_pages) {
        aws_pages_cancel(account->region_pages);
    }
    free_account(account);
}
