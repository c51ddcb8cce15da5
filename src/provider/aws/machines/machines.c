/* machines.c: lists all instances of a cluster, all pages or an error. */
#include "provider/aws/machines/machines.h"

#include "base/require.h"
#include "base/table.h"
#include "provider/aws/aws_internal.h"
#include "provider/aws/cluster/lease_object.h"

enum {
    LIST_MS = 60 * 1000,
    PAGE_MACHINES = 1000,
    FILTER_VALUES = 200, /* EC2's limit */
};

/* ---- one instance ---- */

const char *const machine_tag_prefixes[] = {"ray-", "shoal-", "Name", NULL};

static enum machine_state machines_state_of(const struct instance_record *record)
{
    switch ((enum instance_state)record->state) {
    case INSTANCE_RUNNING:
        return MACHINE_RUNNING;
    case INSTANCE_STOPPING:
        return MACHINE_STOPPING;
    case INSTANCE_STOPPED:
        return MACHINE_STOPPED;
    case INSTANCE_SHUTTING_DOWN:
        return MACHINE_ENDING;
    case INSTANCE_TERMINATED:
        return MACHINE_GONE;
    case INSTANCE_PENDING:
    case INSTANCE_STATE_OTHER: /* an unknown state: it exists, nothing else is known */
        break;
    }
    return MACHINE_PENDING;
}

/* What AWS says is "Client error on launch", whatever the cause. */
#define KEY_ADVICE                                                                   \
    ". Most often the identity that launched it (for workers the role of the head) " \
    "may not use the KMS key of its volumes: allow kms:CreateGrant, kms:Decrypt, "   \
    "kms:DescribeKey and kms:GenerateDataKeyWithoutPlaintext"

struct machine machine_from_record(const struct instance_record *record, struct arena *arena)
{
    struct machine_tag *tags = ARENA_ARRAY(arena, record->tag_count, struct machine_tag);
    for (size_t i = 0; i < record->tag_count; i++) {
        /* As in Ray: the Name tag is the node's name. */
        bool is_name = str_is(record->tags[i].key, "Name");
        tags[i].key = is_name ? STR("ray-node-name") : record->tags[i].key;
        tags[i].value = record->tags[i].value;
    }
    struct str why = record->reason_text.len > 0 ? record->reason_text : record->reason;
    if (str_is(record->reason, "Client.InternalError")) {
        why = arena_printf(arena, "%.*s" KEY_ADVICE, STR_ARG(why));
    }
    return (struct machine){
        .id = record->id,
        .type = record->type,
        .zone = record->zone,
        .private_ip = record->private_ip,
        .public_ip = record->public_ip,
        .why = why,
        .token = record->client_token,
        .launched_at = record->launched_at == INT64_MIN ? 0 : record->launched_at,
        .state = machines_state_of(record),
        .market = record->market == INSTANCE_SPOT ? MARKET_SPOT : MARKET_ON_DEMAND,
        .tags = tags,
        .tag_count = record->tag_count,
    };
}

/* ---- the listing ---- */

struct list_op {
    struct aws_workflow op;
    provider_machines_fn *done;
    void *context;
    bool is_own;           /* listed by uid: all results belong to the cluster */
    const struct str *ids; /* NULL: list by uid or by name */
    size_t id_count, id_at;
    int64_t asked_at;
    struct instance_reply *reader;
    struct err broken; /* why the page is invalid */
    struct instance_list page;
    struct str token; /* token of the current page */
    struct str *tokens;
    size_t token_count, token_capacity;
    struct machine *machines;
    size_t count, capacity;
    struct table by_id;
};

static struct list_op *list_of(struct aws_workflow *op)
{
    return (struct list_op *)op;
}

static void begin_page(void *context)
{
    struct list_op *list = context;
    instance_reply_free(list->reader);
    list->reader = instance_reply_new(INSTANCES_LISTED, machine_tag_prefixes, &list->op.arena);
    list->broken = (struct err){0};
}

static void machines_take_bytes(void *context, struct str bytes)
{
    struct list_op *list = context;
    if (list->broken.kind == ERR_NONE && !instance_reply_feed(list->reader, bytes, &list->broken)) {
        return;
    }
}

static bool check_page(void *context, struct str body, struct err *err)
{
    struct list_op *list = context;
    (void)body;
    if (list->broken.kind != ERR_NONE) {
        *err = list->broken;
        return false;
    }
    return instance_reply_end(list->reader, &list->page, err);
}

static size_t ids_in_call(const struct list_op *list)
{
    require(list->id_at <= list->id_count, "the position is in the list of ids");
    size_t left = list->id_count - list->id_at;
    return left < FILTER_VALUES ? left : FILTER_VALUES;
}

static enum aws_ask list_ask(struct aws_workflow *op, struct aws_request *request)
{
    struct list_op *list = list_of(op);
    struct param *input = param_new_map(&op->arena);
    if (list->ids) {
        param_add_filter(param_add_list(input, "Filters", &op->arena), "instance-id",
                         &list->ids[list->id_at], ids_in_call(list), &op->arena);
    } else if (list->is_own) {
        input_filter(input, "tag:" TAG_CLUSTER_UID, op->provider->uid, &op->arena);
    } else {
        input_filter(input, "tag:ray-cluster-name", op->provider->cluster->name, &op->arena);
    }
    param_add_number(input, "MaxResults", PAGE_MACHINES, &op->arena);
    if (list->token.len > 0) {
        param_add_text(input, "NextToken", list->token, &op->arena);
    } else {
        list->asked_at = loop_now_ms(op->provider->loop);
    }
    request->begin = begin_page;
    request->bytes = machines_take_bytes;
    request->check = check_page;
    return ask_call(request, "DescribeInstances", input);
}

struct machine_question {
    const struct list_op *list;
    struct str id;
};

static bool is_machine(const void *context, size_t position)
{
    const struct machine_question *question = context;
    return str_eq(question->list->machines[position].id, question->id);
}

/* An instance that moved between pages during the listing is kept once, in its latest state. */
static void machines_add_machine(struct list_op *list, const struct instance_record *record)
{
    struct arena *arena = &list->op.arena;
    struct machine machine = machine_from_record(record, arena);
    uint64_t hash = str_hash(machine.id);
    struct machine_question question = {list, machine.id};
    size_t there = table_find(&list->by_id, hash, is_machine, &question);
    if (there != TABLE_NONE) {
        list->machines[there] = machine;
        return;
    }
    ARENA_GROW(arena, list->machines, list->count, list->capacity);
    list->machines[list->count] = machine;
    table_add(&list->by_id, arena, hash, list->count);
    list->count++;
    require(list->by_id.used == list->count, "every instance is in the index");
}

static bool was_there(const struct list_op *list, struct str token)
{
    for (size_t i = 0; i < list->token_count; i++) {
        if (str_eq(list->tokens[i], token)) {
            return true;
        }
    }
    return false;
}

static enum aws_next list_on_reply(struct aws_workflow *op, const struct aws_result *result)
{
    struct list_op *list = list_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    for (size_t i = 0; i < list->page.count; i++) {
        machines_add_machine(list, &list->page.items[i]);
    }
    list->token = list->page.next_token;
    if (list->token.len == 0) {
        list->id_at += list->ids ? ids_in_call(list) : 0;
        return list->id_at < list->id_count ? NEXT_REPEAT : NEXT_NEXT;
    }
    if (was_there(list, list->token) || list->token_count >= AWS_PAGES_MAX) {
        return workflow_end(op, OUTCOME_UNKNOWN, ERR_PROTOCOL,
                            "AWS returned the same page token twice while listing instances "
                            "(after %zu pages)",
                            list->token_count + 1);
    }
    ARENA_PUSH(&op->arena, list->tokens, list->token_count, list->token_capacity) = list->token;
    return NEXT_REPEAT;
}

static void list_finish(struct aws_workflow *op)
{
    struct list_op *list = list_of(op);
    bool ok = op->answer.outcome == OUTCOME_DONE;
    if (ok && list->is_own) {
        known_ids_renew(&op->provider->known, list->asked_at);
        for (size_t i = 0; i < list->count; i++) {
            known_ids_add(&op->provider->known, list->machines[i].id, 0);
        }
    }
    list->done(list->context, &op->answer, ok ? list->machines : NULL, ok ? list->count : 0);
}

static void list_dispose(struct aws_workflow *op)
{
    instance_reply_free(list_of(op)->reader);
}

void aws_list(struct provider *base, provider_machines_fn *done, void *context)
{
    static const struct aws_step steps[] = {LEASE_OBJECT_STEP, {list_ask, list_on_reply}};
    struct list_op *list = WORKFLOW_NEW(aws_provider_of(base), struct list_op, steps, LIST_MS,
                                        list_finish);
    list->op.dispose = list_dispose;
    list->is_own = true;
    list->done = done;
    list->context = context;
    workflow_start(&list->op);
}

void aws_list_by(struct provider *base, const struct machine_query *query,
                 provider_machines_fn *done, void *context)
{
    static const struct aws_step steps[] = {{list_ask, list_on_reply}};
    struct list_op *list = WORKFLOW_NEW(aws_provider_of(base), struct list_op, steps, LIST_MS,
                                        list_finish);
    if (query->id_count > 0) {
        struct str *ids = ARENA_ARRAY(&list->op.arena, query->id_count, struct str);
        for (size_t i = 0; i < query->id_count; i++) {
            ids[i] = arena_str(&list->op.arena, query->ids[i]);
        }
        list->ids = ids;
        list->id_count = query->id_count;
    }
    list->op.dispose = list_dispose;
    list->done = done;
    list->context = context;
    workflow_start(&list->op);
}
