/*
 * machines_change.c: terminates, stops, starts and tags instances.
 *
 * EC2 applies a call to all its instances or to none, so unknown ones are removed from the call and
 * it is sent again. An instance that is not known to belong to the cluster is looked up by id and
 * uid before it is changed.
 */
#include "provider/aws/aws_internal.h"
#include "provider/aws/cluster/lease_object.h"

#include <string.h>

enum {
    CHANGE_MS = 60 * 1000,
    MACHINES_MAX = 1000, /* per call */
    FILTER_VALUES = 200, /* EC2's limit */
};

struct change_op {
    struct aws_workflow op;
    const char *action;
    const struct machine_tag *tags; /* for CreateTags */
    size_t tag_count;
    provider_done_fn *done;
    void *context;
    struct str *strangers; /* ids to look up */
    size_t stranger_count, stranger_at;
    struct str *ids; /* ids to change */
    size_t count, at;
    size_t in_call;   /* number of ids in the current call */
    size_t missing;   /* unknown to EC2, or not the cluster's */
    struct str first; /* first id of the missing ones */
};

static struct change_op *change_of(struct aws_workflow *op)
{
    return (struct change_op *)op;
}

static void miss(struct change_op *change, struct str id)
{
    change->first = change->missing == 0 ? id : change->first;
    change->missing++;
}

/* ---- looking up ---- */

static enum aws_ask ask_whose(struct aws_workflow *op, struct aws_request *request)
{
    struct change_op *change = change_of(op);
    struct param *input = param_new_map(&op->arena);
    size_t left = change->stranger_count - change->stranger_at;
    if (left == 0) {
        return ASK_NOTHING;
    }
    struct param *filters = param_add_list(input, "Filters", &op->arena);
    param_add_filter(filters, "instance-id", &change->strangers[change->stranger_at],
                     left < FILTER_VALUES ? left : FILTER_VALUES, &op->arena);
    input_filter(input, "tag:" TAG_CLUSTER_UID, op->provider->uid, &op->arena);
    return ask_pages(request, "DescribeInstances", input);
}

static bool machines_change_is_in(const struct aws_result *result, struct str id)
{
    for (size_t i = 0; i < result->page_count; i++) {
        const struct xml_element *set = xml_child(result->pages[i], "reservationSet");
        for (const struct xml_element *item = set ? set->first : NULL; item; item = item->next) {
            const struct xml_element *machines = xml_child(item, "instancesSet");
            const struct xml_element *machine = machines ? machines->first : NULL;
            for (; machine; machine = machine->next) {
                if (str_eq(xml_child_text(machine, "instanceId"), id)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static enum aws_next on_whose(struct aws_workflow *op, const struct aws_result *result)
{
    struct change_op *change = change_of(op);
    if (!result->reply->is_ok) {
        return workflow_fail(op, result);
    }
    size_t end = change->stranger_at + FILTER_VALUES;
    end = end < change->stranger_count ? end : change->stranger_count;
    for (; change->stranger_at < end; change->stranger_at++) {
        struct str id = change->strangers[change->stranger_at];
        if (machines_change_is_in(result, id)) {
            change->ids[change->count++] = id;
        } else {
            miss(change, id);
        }
    }
    return NEXT_REPEAT;
}

/* ---- the change ---- */

static enum aws_ask ask_change_them(struct aws_workflow *op, struct aws_request *request)
{
    struct change_op *change = change_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    size_t left = change->count - change->at;
    if (left == 0) {
        return ASK_NOTHING;
    }
    bool is_tag = change->tag_count > 0;
    struct param *list = param_add_list(input, is_tag ? "Resources" : "InstanceIds", arena);
    change->in_call = left < MACHINES_MAX ? left : MACHINES_MAX;
    for (size_t i = 0; i < change->in_call; i++) {
        param_add_text(list, "", change->ids[change->at + i], arena);
    }
    if (is_tag) {
        struct param *tags = param_add_list(input, "Tags", arena);
        for (size_t i = 0; i < change->tag_count; i++) {
            bool is_name = str_is(change->tags[i].key, "ray-node-name");
            param_add_tag(tags, is_name ? STR("Name") : change->tags[i].key, change->tags[i].value,
                          arena);
        }
    }
    return ask_change(request, change->action, input);
}

/* Removes the ids in an error message from the call; false if it contains none of them. */
static bool drop_named(struct change_op *change, struct str message)
{
    size_t kept = change->at;
    size_t end = change->at + change->in_call;
    size_t before = change->missing;
    for (size_t i = change->at; i < end; i++) {
        if (str_find(message, change->ids[i].ptr) != SIZE_MAX) {
            miss(change, change->ids[i]);
        } else {
            change->ids[kept++] = change->ids[i];
        }
    }
    memmove(&change->ids[kept], &change->ids[end], (change->count - end) * sizeof(struct str));
    change->count -= end - kept;
    return change->missing > before;
}

static enum aws_next on_change(struct aws_workflow *op, const struct aws_result *result)
{
    struct change_op *change = change_of(op);
    const struct aws_reply *reply = result->reply;
    if (reply->is_ok) {
        change->at += change->in_call;
        return NEXT_REPEAT;
    }
    bool is_unknown = str_is(reply->error.code, "InvalidInstanceID.NotFound") ||
                      str_is(reply->error.code, "InvalidInstanceID") ||
                      str_is(reply->error.code, "InvalidID");
    if (is_unknown && drop_named(change, reply->error.message)) {
        return NEXT_REPEAT;
    }
    return workflow_fail(op, result);
}

/* ---- start and end ---- */

static void change_finish(struct aws_workflow *op)
{
    struct change_op *change = change_of(op);
    if (op->has_no_cluster) {
        change->missing = change->stranger_count + change->count;
        change->first = change->strangers[0];
    }
    if (op->answer.outcome == OUTCOME_DONE && change->missing > 0) {
        workflow_end(op, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                     "%zu instance%s not found in this cluster: %.*s%s", change->missing,
                     change->missing == 1 ? " is" : "s are", STR_ARG(change->first),
                     change->missing == 1 ? "" : ", ...");
    }
    change->done(change->context, &op->answer);
}

/* Moves known ids to the front of `ids` and the others to `strangers`. */
static void sort_ids(struct change_op *change, const struct str *ids, size_t count)
{
    struct arena *arena = &change->op.arena;
    change->ids = ARENA_ARRAY(arena, count, struct str);
    change->strangers = ARENA_ARRAY(arena, count + 1, struct str);
    for (size_t i = 0; i < count; i++) {
        struct str id = arena_str(arena, ids[i]);
        if (known_ids_has(&change->op.provider->known, id)) {
            change->ids[change->count++] = id;
        } else {
            change->strangers[change->stranger_count++] = id;
        }
    }
}

static struct change_op *new_change(struct provider *base, const char *action,
                                    const struct str *ids, size_t count, provider_done_fn *done,
                                    void *context)
{
    static const struct aws_step steps[] = {
        LEASE_OBJECT_STEP,
        {ask_whose, on_whose},
        {ask_change_them, on_change},
    };
    struct change_op *change = WORKFLOW_NEW(aws_provider_of(base), struct change_op, steps,
                                            CHANGE_MS, change_finish);
    change->action = action;
    change->done = done;
    change->context = context;
    sort_ids(change, ids, count);
    workflow_start(&change->op);
    return change;
}

void aws_terminate(struct provider *base, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context)
{
    (void)new_change(base, "TerminateInstances", ids, count, done, context);
}

void aws_stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
              void *context)
{
    (void)new_change(base, "StopInstances", ids, count, done, context);
}

void aws_start(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
               void *context)
{
    (void)new_change(base, "StartInstances", ids, count, done, context);
}

void aws_tag(struct provider *base, const struct str *ids, size_t count,
             const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
             void *context)
{
    struct change_op *change = new_change(base, "CreateTags", ids, tag_count > 0 ? count : 0, done,
                                          context);
    struct arena *arena = &change->op.arena;
    struct machine_tag *copies = ARENA_ARRAY(arena, tag_count, struct machine_tag);
    for (size_t i = 0; i < tag_count; i++) {
        copies[i] = (struct machine_tag){arena_str(arena, tags[i].key),
                                         arena_str(arena, tags[i].value)};
    }
    change->tags = copies;
    change->tag_count = tag_count;
}
