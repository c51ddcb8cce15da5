/*
 * remove_internal.h: private parts of aws_remove(). remove.c orders the steps and deletes groups,
 * keys and the lease object; remove_role.c deletes the instance profile and the role.
 */
#pragma once

#include "provider/aws/aws_internal.h"
#include "provider/aws/aws_workflow.h"

enum remove_step {
    REMOVE_FIND_LEASE_OBJECT,
    REMOVE_FIND_MACHINES,
    REMOVE_FIND_PROFILE,
    REMOVE_EMPTY_PROFILE,
    REMOVE_DELETE_PROFILE,
    REMOVE_FIND_ROLE,
    REMOVE_FIND_POLICIES,
    REMOVE_DELETE_POLICY,
    REMOVE_FIND_ATTACHED,
    REMOVE_DETACH_POLICY,
    REMOVE_DELETE_ROLE,
    REMOVE_FIND_GROUPS,
    REMOVE_DELETE_GROUP,
    REMOVE_FIND_MEMBERS,
    REMOVE_FIND_KEYS,
    REMOVE_DELETE_KEY,
    REMOVE_FIND_VOLUMES,
    REMOVE_PROVE_GROUPS,
    REMOVE_PROVE_KEYS,
    REMOVE_DELETE_LEASE_OBJECT,
    REMOVE_PROVE_LEASE_OBJECT,
};

struct remove_ids {
    struct str *items;
    size_t count, capacity, at;
};

struct remove_op {
    struct aws_workflow op;
    provider_resources_fn *done;
    void *context;
    struct provider_resource *things; /* resources left */
    size_t thing_count, thing_capacity;
    struct provider_resource *gone; /* resources deleted */
    size_t gone_count, gone_capacity;
    struct remove_ids policies, attached, groups, keys;
    /* When the resource being deleted was first found in use, on the loop's clock; 0: not in
     * use. */
    int64_t used_since;
    int64_t volumes_since; /* the first listing of volumes, likewise */
};

static inline struct remove_op *remove_of(struct aws_workflow *op)
{
    return (struct remove_op *)op;
}

/* Reports a listing that this caller is not allowed to make: whether such a resource exists is
 * unknown. */
void remove_add_unseen(struct aws_workflow *op, const char *kind, struct str id,
                       const char *action);
/* Reports a resource that could not be deleted, with AWS's reason and what to do. */
void remove_add_refused(struct aws_workflow *op, const struct aws_result *result, const char *kind,
                        struct str id, const char *action);
/* Reports a resource as deleted, unless the reply says that it did not exist. */
void remove_add_gone(struct aws_workflow *op, const struct aws_result *result, const char *kind,
                     struct str id);

bool remove_is_denied(const struct aws_result *result);
/* True while the resource has been in use only for a short time: retry. */
bool remove_is_worth_waiting(struct remove_op *remove);
void remove_add_id(struct aws_workflow *op, struct remove_ids *ids, struct str id);

extern const struct aws_step remove_find_profile, remove_empty_profile, remove_delete_profile;
extern const struct aws_step remove_find_role, remove_find_policies, remove_delete_policy,
    remove_find_attached, remove_detach_policy, remove_delete_role;
