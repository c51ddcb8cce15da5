/*
 * launch.c: sends one RunInstances call until its outcome is known.
 *
 * The call has a client token, so sending it again is the same launch. It ends with instances, with
 * a definite error, or with OUTCOME_UNKNOWN: then any process that sends the same bytes later gets
 * the result.
 */
#include "provider/aws/aws_internal.h"
#include "provider/aws/aws_workflow.h"
#include "provider/aws/machines/launch_encode.h"
#include "provider/aws/machines/machines.h"

enum { LAUNCH_MS = 90 * 1000 };

bool aws_draft(struct provider *base, const struct launch_request *request, struct arena *arena,
               struct str *ret_call, struct err *err)
{
    struct aws_provider *provider = aws_provider_of(base);
    if (!provider->has_facts || request->type >= provider->cluster->type_count) {
        return err_set(err, ERR_INTERNAL,
                       "internal error: launch before the account was read, or "
                       "of an unknown node type");
    }
    struct launch_draft draft = {
        .request = request,
        .node_config = provider->cluster->types[request->type].node_config,
        .facts = &provider->facts.types[request->type],
        .cluster_name = provider->cluster->name,
        .uid = provider->uid,
        .epoch = provider->epoch,
        .own_group = provider->own_group,
        .own_key = provider->own_key,
        .own_profile = provider->own_profile,
        .tags = provider_tags(provider->cluster),
    };
    return launch_draft_write(&draft, arena, ret_call, err);
}

struct launch_op {
    struct aws_workflow op;
    struct str call;
    provider_machines_fn *done;
    void *context;
    struct instance_reply *reader;
    struct err broken;
    struct instance_list made;
};

static struct launch_op *launch_do_launch_of(struct aws_workflow *op)
{
    return (struct launch_op *)op;
}

static void launch_begin_reply(void *context)
{
    struct launch_op *launch = context;
    instance_reply_free(launch->reader);
    launch->reader = instance_reply_new(INSTANCES_LAUNCHED, machine_tag_prefixes,
                                        &launch->op.arena);
    launch->broken = (struct err){0};
}

static void launch_take_bytes(void *context, struct str bytes)
{
    struct launch_op *launch = context;
    if (launch->broken.kind == ERR_NONE &&
        !instance_reply_feed(launch->reader, bytes, &launch->broken)) {
        return;
    }
}

static bool check_reply(void *context, struct str body, struct err *err)
{
    struct launch_op *launch = context;
    (void)body;
    if (launch->broken.kind != ERR_NONE) {
        *err = launch->broken;
        return false;
    }
    return instance_reply_end(launch->reader, &launch->made, err);
}

static enum aws_ask launch_ask(struct aws_workflow *op, struct aws_request *request)
{
    struct launch_op *launch = launch_do_launch_of(op);
    if (!str_starts(launch->call, "Action=RunInstances&")) {
        workflow_end(op, OUTCOME_INVALID, ERR_INTERNAL,
                     "internal error: the stored call is not "
                     "RunInstances");
        return ASK_NOTHING;
    }
    request->action = "RunInstances";
    request->body = launch->call;
    request->care = AWS_REPEATABLE;
    request->begin = launch_begin_reply;
    request->bytes = launch_take_bytes;
    request->check = check_reply;
    return ASK_CALL;
}

/* True for a resource that prepare() just created and that is not visible everywhere in EC2 yet. A
 * missing resource from the file is reported immediately instead. */
static bool launch_is_too_early(const struct aws_provider *provider, const struct aws_error *error)
{
    const struct {
        const char *code;
        struct str name;
    } young[] = {
        {"InvalidGroup.NotFound", provider->own_group},
        {"InvalidSecurityGroupID.NotFound", provider->own_group},
        {"InvalidKeyPair.NotFound", provider->own_key},
        {"InvalidParameterValue", provider->own_profile},
    };
    for (size_t i = 0; i < ARRAY_LEN(young); i++) {
        if (str_is(error->code, young[i].code) && young[i].name.len > 0 &&
            str_find(error->message, young[i].name.ptr) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static enum aws_next launch_on_reply(struct aws_workflow *op, const struct aws_result *result)
{
    const struct aws_reply *reply = result->reply;
    if (reply->is_ok) {
        return NEXT_NEXT;
    }
    if (result_has_code(result, "IdempotentInstanceTerminated")) {
        launch_do_launch_of(op)->made = (struct instance_list){
            0}; /* launched and already terminated */
        return NEXT_NEXT;
    }
    return launch_is_too_early(op->provider, &reply->error) ? workflow_wait(op, result)
                                                            : workflow_fail(op, result);
}

static void launch_finish(struct aws_workflow *op)
{
    struct launch_op *launch = launch_do_launch_of(op);
    struct machine *machines = ARENA_ARRAY(&op->arena, launch->made.count, struct machine);
    bool ok = op->answer.outcome == OUTCOME_DONE;
    for (size_t i = 0; i < launch->made.count && ok; i++) {
        machines[i] = machine_from_record(&launch->made.items[i], &op->arena);
        known_ids_add(&op->provider->known, machines[i].id, loop_now_ms(op->provider->loop));
    }
    launch->done(launch->context, &op->answer, ok ? machines : NULL, ok ? launch->made.count : 0);
}

static void launch_dispose(struct aws_workflow *op)
{
    instance_reply_free(launch_do_launch_of(op)->reader);
}

void aws_launch(struct provider *base, struct str call, provider_machines_fn *done, void *context)
{
    static const struct aws_step steps[] = {{launch_ask, launch_on_reply}};
    struct launch_op *launch = WORKFLOW_NEW(aws_provider_of(base), struct launch_op, steps,
                                            LAUNCH_MS, launch_finish);
    launch->op.dispose = launch_dispose;
    launch->call = arena_str(&launch->op.arena, call);
    launch->done = done;
    launch->context = context;
    workflow_start(&launch->op);
}
