/*
 * prepare.h: making what is missing around the machines, from inside: key, group, role. Each has a
 * file of its own with its steps; prepare.c puts them in a row.
 */
#pragma once

#include "provider/aws/aws_script.h"
#include "provider/aws/aws_state.h"
#include "provider/aws/cluster/group_rules.h"

enum prepare_step {
    PREPARE_ANCHOR,
    PREPARE_FIND_KEY,
    PREPARE_IMPORT_KEY,
    PREPARE_FIND_GROUP,
    PREPARE_MAKE_GROUP,
    PREPARE_FIND_CALLER,
    PREPARE_FIND_VPC,
    PREPARE_ADD_RULES,
    PREPARE_TAKE_RULES,
    PREPARE_FIND_WORKER_ROLES,
    PREPARE_FIND_ROLE,
    PREPARE_MAKE_ROLE,
    PREPARE_WRITE_POLICY,
    PREPARE_FIND_PROFILE,
    PREPARE_MAKE_PROFILE,
    PREPARE_FILL_PROFILE,
    PREPARE_STEP_COUNT
};

struct prepare_op {
    struct aws_script op;
    provider_things_fn *done;
    void *context;
    struct provider_thing *things;
    size_t thing_count, thing_capacity;
    bool wants_key, wants_group, wants_role;
    bool only_finds;
    struct str public_key;
    struct str group_name;
    struct str group; /* id */
    struct group_rules there, wanted, missing, stale;
    size_t rule_at;
    bool has_place;                     /* it is known from where ssh comes */
    const struct aws_type_facts **with; /* types whose machines get a role that the file names */
    size_t with_count, with_at;
    struct str *worker_roles;
    size_t worker_role_count;
    struct str role;               /* its name, and that of its profile */
    struct str partition, account; /* it is in, by its ARN */
    bool is_profile_empty;
};

static inline struct prepare_op *prepare_of(struct aws_script *op)
{
    return (struct prepare_op *)op;
}

void prepare_add_thing(struct prepare_op *prepare, const char *kind, struct str id,
                       const char *note);

/*
 * For a cluster that was made a moment ago nothing is looked for first: names have its uid in them,
 * so what is there all the same was made by a try that was not answered. Then it is looked for.
 */
bool prepare_looks_first(struct aws_script *op);
enum aws_turn prepare_look(struct aws_script *op, const struct aws_heard *heard, size_t step);

/* Ends: a thing with the name of ours that is not ours. */
enum aws_turn prepare_foreign(struct aws_script *op, const char *kind, struct str name);

extern const struct aws_step prepare_find_key, prepare_import_key;
extern const struct aws_step prepare_find_group, prepare_make_group, prepare_find_caller,
    prepare_find_vpc, prepare_add_rules, prepare_take_rules;
extern const struct aws_step prepare_find_worker_roles, prepare_find_role, prepare_make_role,
    prepare_write_policy, prepare_find_profile, prepare_make_profile, prepare_fill_profile;
