/*
 * lease_by_name.h: lists instances with a cluster's name, whatever their uid. Before a lease object
 * is created, they show whether a cluster of this name already exists.
 */
#pragma once

#include "provider/aws/aws_workflow.h"

enum { NAMED_UIDS_MAX = 8 };

/* Live instances (not terminated) with the tag ray-cluster-name of this cluster. */
struct lease_by_name {
    struct str uids[NAMED_UIDS_MAX]; /* distinct values of shoal-cluster-uid */
    size_t uid_count;                /* includes those that did not fit */
    struct str example;              /* the id of one instance that has a uid */
    size_t without_uid;              /* created by another tool, such as `ray up` */
    struct str without_uid_example;  /* the id of one of them */
};

enum aws_ask lease_by_name_ask(struct aws_workflow *op, struct aws_request *request);
/* Strings are allocated in the operation's arena. */
struct lease_by_name lease_by_name_read(struct aws_workflow *op, const struct aws_result *result);
bool lease_by_name_has(const struct lease_by_name *named, struct str uid);
