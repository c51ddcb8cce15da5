/* lease_object.h: finds the lease object of a cluster, for operations that need its uid. */
#pragma once

#include "provider/aws/aws_workflow.h"

/*
 * A first step: reads uid and lease object unless they are known. Ends the operation with
 * `has_no_cluster` if there is no lease object, and with an error if a launch template of that name
 * is not ours.
 */
enum aws_ask lease_object_ask_find(struct aws_workflow *op, struct aws_request *request);
enum aws_next lease_object_on_find(struct aws_workflow *op, const struct aws_result *result);

#define LEASE_OBJECT_STEP                           \
    {                                               \
        lease_object_ask_find, lease_object_on_find \
    }

/* From DescribeLaunchTemplates. */
struct lease_object {
    struct str id, uid;
    struct str creator; /* ARN: always in the same account */
    uint64_t base;      /* default version */
    uint64_t highest;   /* latest version */
    bool has_no_role;   /* the cluster has not made a role for its head */
};

/* Sends the request even if the result is known. Reads the result: false if there is no lease
 * object. */
enum aws_ask lease_object_ask(struct aws_workflow *op, struct aws_request *request);
bool lease_object_read(struct aws_workflow *op, const struct aws_result *result,
                       struct lease_object *ret_found);
