/* wait_list.h: calls that wait for the same credentials. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/* Embedded in its owner; zero all but `ready` and `context`. */
struct waiter {
    void (*ready)(void *context, const struct err *err); /* NULL: success */
    void *context;
    struct waiter *next;
    bool is_waiting;
};

struct wait_list {
    struct waiter *waiting, *serving;
};

void wait_list_add(struct wait_list *list, struct waiter *waiter); /* at the end */
void wait_list_remove(struct wait_list *list, struct waiter *waiter);

/* Calls `ready` of all, in order. A callback may remove others, or add itself for the next time. */
void wait_list_serve(struct wait_list *list, const struct err *err);
