/* prepare.c: decides what to create, and runs the steps in order. */
#include "provider/aws/cluster/prepare.h"

#include "base/require.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/cluster/lease_object.h"

enum { PREPARE_MS = 180 * 1000 };

void prepare_add_thing(struct prepare_op *prepare, const char *kind, struct str id,
                       const char *note)
{
    struct arena *arena = &prepare->op.arena;
    ARENA_PUSH(arena, prepare->things, prepare->thing_count,
               prepare->thing_capacity) = (struct provider_resource){
        .kind = str_from(kind), .id = arena_str(arena, id), .note = str_from(note)};
}

bool prepare_uses_sessions(const struct prepare_op *prepare)
{
    const struct param *settings = prepare->op.provider->cluster->provider;
    return settings && str_is(param_text(settings, "access"), "ssm");
}

bool prepare_looks_first(struct aws_workflow *op)
{
    return !op->provider->is_new || prepare_of(op)->scope != PREPARE_CREATE;
}

enum aws_next prepare_look(struct aws_workflow *op, const struct aws_result *result, size_t step)
{
    op->provider->is_new = false;
    op->at = step;
    return workflow_wait(op, result);
}

enum aws_next prepare_foreign(struct aws_workflow *op, const char *kind, struct str name)
{
    return workflow_end(op, OUTCOME_INVALID, ERR_EXISTS,
                        "the %s %.*s does not belong to this cluster (its tag " TAG_CLUSTER_UID
                        " is missing or different): delete it, or rename the cluster",
                        kind, STR_ARG(name));
}

static enum aws_next prepare_on_lease_object(struct aws_workflow *op,
                                             const struct aws_result *result)
{
    enum aws_next turn = lease_object_on_find(op, result);
    return op->has_no_cluster ? workflow_end(op, OUTCOME_INVALID, ERR_INTERNAL,
                                             "internal error: the cluster has no lease")
                              : turn;
}

static void prepare_finish(struct aws_workflow *op)
{
    struct prepare_op *prepare = prepare_of(op);
    struct aws_provider *provider = op->provider;
    struct arena *own = &provider->own_arena;
    bool ok = op->answer.outcome == OUTCOME_DONE;
    if (prepare->scope == PREPARE_PERMIT) {
        aws_client_set_lease(provider->client, NULL);
    }
    if (ok && (prepare->scope == PREPARE_CREATE || prepare->scope == PREPARE_FIND)) {
        struct str name = aws_own_name(provider->cluster->name, provider->uid, "", own);
        provider->own_key = prepare->wants_key ? name : STR("");
        provider->own_group = arena_str(own, prepare->group);
        provider->own_profile = arena_str(own, prepare->role);
        provider->is_new = false;
    }
    prepare->done(prepare->context, &op->answer, ok ? prepare->things : NULL,
                  ok ? prepare->thing_count : 0);
}

/* Resources named in the file are used as they are; only missing ones are created. */
static void find_requests(struct prepare_op *prepare)
{
    const struct aws_provider *provider = prepare->op.provider;
    size_t count = provider->has_facts ? provider->cluster->type_count : 0;
    prepare->with = arena_array(&prepare->op.arena, count, sizeof(*prepare->with));
    prepare->worker_roles = ARENA_ARRAY(&prepare->op.arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        const struct aws_type_facts *facts = &provider->facts.types[i];
        prepare->wants_key = prepare->wants_key || facts->makes_key;
        prepare->wants_group = prepare->wants_group || facts->makes_group;
        prepare->wants_role = prepare->wants_role || facts->makes_profile;
        if (!provider->cluster->types[i].is_head && facts->profile.len > 0) {
            prepare->with[prepare->with_count++] = facts;
        }
    }
}

static enum aws_ask ask_lease_object(struct aws_workflow *op, struct aws_request *request)
{
    if (!op->provider->has_facts && prepare_of(op)->scope != PREPARE_ADMIT) {
        workflow_end(op, OUTCOME_INVALID, ERR_INTERNAL,
                     "internal error: the account has not been read");
        return ASK_NOTHING;
    }
    return lease_object_ask_find(op, request);
}

static struct prepare_op *prepare_new(struct aws_provider *provider, provider_resources_fn *done,
                                      void *context)
{
    static const struct aws_step lease_object = {ask_lease_object, prepare_on_lease_object};
    struct aws_step steps[PREPARE_STEP_COUNT];
    const struct aws_step *const rows[PREPARE_STEP_COUNT] = {
        [PREPARE_LEASE_OBJECT] = &lease_object,
        [PREPARE_MAKE_SPOT_ROLE] = &prepare_make_spot_role,
        [PREPARE_NOTE_ROLE] = &prepare_note_role,
        [PREPARE_SEE_NOTE] = &prepare_see_note,
        [PREPARE_ATTACH_POLICIES] = &prepare_attach_policies,
        [PREPARE_FIND_KEY] = &prepare_find_key,
        [PREPARE_IMPORT_KEY] = &prepare_import_key,
        [PREPARE_FIND_GROUP] = &prepare_find_group,
        [PREPARE_MAKE_GROUP] = &prepare_make_group,
        [PREPARE_FIND_CALLER] = &prepare_find_caller,
        [PREPARE_FIND_VPC] = &prepare_find_vpc,
        [PREPARE_ADD_RULES] = &prepare_add_rules,
        [PREPARE_TAKE_RULES] = &prepare_take_rules,
        [PREPARE_FIND_WORKER_ROLES] = &prepare_find_worker_roles,
        [PREPARE_FIND_ROLE] = &prepare_find_role,
        [PREPARE_MAKE_ROLE] = &prepare_make_role,
        [PREPARE_WRITE_POLICY] = &prepare_write_policy,
        [PREPARE_FIND_PROFILE] = &prepare_find_profile,
        [PREPARE_MAKE_PROFILE] = &prepare_make_profile,
        [PREPARE_FILL_PROFILE] = &prepare_fill_profile,
    };
    for (size_t i = 0; i < PREPARE_STEP_COUNT; i++) {
        steps[i] = *rows[i];
    }
    struct prepare_op *prepare = WORKFLOW_NEW(provider, struct prepare_op, steps, PREPARE_MS,
                                              prepare_finish);
    const struct param *policies = param_get(provider->cluster->provider, PARAM_LIST,
                                             "head_policies");
    prepare->done = done;
    prepare->context = context;
    prepare->policy = policies ? policies->first : NULL;
    return prepare;
}

void aws_admit(struct provider *base, provider_resources_fn *done, void *context)
{
    struct prepare_op *prepare = prepare_new(aws_provider_of(base), done, context);
    prepare->scope = PREPARE_ADMIT;
    prepare->wants_group = true;
    workflow_start(&prepare->op);
}

void aws_prepare(struct provider *base, struct str ssh_public_key, provider_resources_fn *done,
                 void *context)
{
    struct prepare_op *prepare = prepare_new(aws_provider_of(base), done, context);
    prepare->public_key = arena_str(&prepare->op.arena, str_trim(ssh_public_key));
    prepare->scope = prepare->public_key.len == 0 ? PREPARE_FIND : PREPARE_CREATE;
    find_requests(prepare);
    prepare->wants_role = prepare->wants_role && prepare->scope == PREPARE_CREATE;
    workflow_start(&prepare->op);
}

void aws_update_role(struct provider *base, int64_t until, provider_resources_fn *done,
                     void *context)
{
    struct prepare_op *prepare = prepare_new(aws_provider_of(base), done, context);
    struct aws_client *client = prepare->op.provider->client;
    int64_t left_ms = until * 1000 - aws_client_now_ms(client);
    prepare->scope = PREPARE_PERMIT;
    require(prepare->op.provider->epoch == 0, "the head's service holds the lease");
    aws_client_set_lease(
        client,
        &(struct aws_lease){loop_now_ms(prepare->op.provider->loop) + left_ms, until * 1000});
    find_requests(prepare);
    prepare->wants_key = prepare->wants_key && prepare->wants_role; /* for the policy */
    prepare->wants_group = prepare->wants_group && prepare->wants_role;
    workflow_start(&prepare->op);
}
