/*
 * aws_operation.h: an operation in progress, so that closing the provider can end it without a
 * callback.
 *
 * An operation struct starts with this one. It adds itself when it starts and removes itself before
 * it calls `done`.
 */
#pragma once

#include "provider/aws/aws_internal.h"

#include <stddef.h>

struct aws_operation {
    struct aws_operation *next, *before;
    struct aws_provider *provider;
    void (*end)(struct aws_operation *operation); /* frees it without calling callbacks */
};

static inline void aws_operation_add(struct aws_provider *provider, struct aws_operation *operation,
                                     void (*end)(struct aws_operation *operation))
{
    operation->provider = provider;
    operation->end = end;
    operation->before = NULL;
    operation->next = provider->operations;
    if (operation->next) {
        operation->next->before = operation;
    }
    provider->operations = operation;
}

static inline void aws_operation_remove(struct aws_operation *operation)
{
    if (operation->next) {
        operation->next->before = operation->before;
    }
    if (operation->before) {
        operation->before->next = operation->next;
    } else {
        operation->provider->operations = operation->next;
    }
}

/* For close(). */
static inline void aws_operations_end(struct aws_provider *provider)
{
    while (provider->operations) {
        struct aws_operation *operation = provider->operations;
        aws_operation_remove(operation);
        operation->end(operation);
    }
}
