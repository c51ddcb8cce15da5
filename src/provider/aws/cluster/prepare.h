/*
 * prepare.h: creates the missing resources of a cluster: key, group, role (private). Each has its
 * own file with steps; prepare.c runs them in order.
 */
#pragma once

#include "provider/aws/aws_internal.h"
#include "provider/aws/aws_workflow.h"
#include "provider/aws/cluster/group_rules.h"

enum prepare_step {
    PREPARE_LEASE_OBJECT,
    PREPARE_MAKE_SPOT_ROLE,
    PREPARE_NOTE_ROLE,
    PREPARE_SEE_NOTE,
    /* First, because many callers may not create one. */
    PREPARE_FIND_ROLE,
    PREPARE_MAKE_ROLE,
    PREPARE_FIND_PROFILE,
    PREPARE_MAKE_PROFILE,
    PREPARE_FILL_PROFILE,
    PREPARE_FIND_KEY,
    PREPARE_IMPORT_KEY,
    PREPARE_FIND_GROUP,
    PREPARE_MAKE_GROUP,
    PREPARE_FIND_CALLER,
    PREPARE_FIND_VPC,
    PREPARE_ADD_RULES,
    PREPARE_TAKE_RULES,
    PREPARE_FIND_WORKER_ROLES,
    PREPARE_WRITE_POLICY,
    PREPARE_ATTACH_POLICIES,
    PREPARE_STEP_COUNT
};

enum prepare_scope {
    PREPARE_CREATE, /* finds, and creates what is missing */
    PREPARE_FIND,
    PREPARE_PERMIT, /* finds, and writes the policy of the role */
    PREPARE_ADMIT,  /* adds an ssh rule for this machine and nothing else, without the lease */
};

struct prepare_op {
    struct aws_workflow op;
    provider_resources_fn *done;
    void *context;
    struct provider_resource *things;
    size_t thing_count, thing_capacity;
    bool wants_key, wants_group, wants_role;
    enum prepare_scope scope;
    struct str public_key;
    struct str group_name;
    struct str group; /* id */
    struct group_rules there, wanted, missing, stale;
    size_t rule_at;
    bool has_place;                     /* the source range for ssh is known */
    const struct aws_type_facts **with; /* types whose machines get a role from the file */
    size_t with_count, with_at;
    struct str *worker_roles;
    size_t worker_role_count;
    struct str role;               /* name of the role and of its profile */
    struct str partition, account; /* parts of the role's ARN */
    bool is_profile_empty;
    const struct param *policy; /* of head_policies, the next to attach */
};

static inline struct prepare_op *prepare_of(struct aws_workflow *op)
{
    return (struct prepare_op *)op;
}

/* Missing resources are an error. */
static inline bool prepare_only_finds(const struct prepare_op *prepare)
{
    return prepare->scope == PREPARE_FIND || prepare->scope == PREPARE_PERMIT;
}

/* Users reach the head through AWS Session Manager: nothing outside the group may connect. */
bool prepare_uses_sessions(const struct prepare_op *prepare);

void prepare_add_thing(struct prepare_op *prepare, const char *kind, struct str id,
                       const char *note);

/*
 * For a cluster created a moment ago nothing is looked up first: names contain its uid, so a
 * resource can exist only if a call created it and its reply was lost. Only then it is looked up.
 */
bool prepare_looks_first(struct aws_workflow *op);
enum aws_next prepare_look(struct aws_workflow *op, const struct aws_result *result, size_t step);

/* Ends with an error: a resource has our name but is not ours. */
enum aws_next prepare_foreign(struct aws_workflow *op, const char *kind, struct str name);

extern const struct aws_step prepare_find_key, prepare_import_key;
extern const struct aws_step prepare_find_group, prepare_make_group, prepare_find_caller,
    prepare_find_vpc, prepare_add_rules, prepare_take_rules;
extern const struct aws_step prepare_make_spot_role, prepare_note_role, prepare_see_note,
    prepare_attach_policies;
extern const struct aws_step prepare_find_worker_roles, prepare_find_role, prepare_make_role,
    prepare_write_policy, prepare_find_profile, prepare_make_profile, prepare_fill_profile;
