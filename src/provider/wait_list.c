/* wait_list.c: two lists, because callbacks change them. */
#include "provider/wait_list.h"

#include <stddef.h>

void wait_list_add(struct wait_list *list, struct waiter *waiter)
{
    struct waiter **end = &list->waiting;
    while (*end) {
        end = &(*end)->next;
    }
    waiter->next = NULL;
    waiter->is_waiting = true;
    *end = waiter;
}

static bool wait_list_take_out(struct waiter **list, struct waiter *waiter)
{
    for (; *list; list = &(*list)->next) {
        if (*list == waiter) {
            *list = waiter->next;
            return true;
        }
    }
    return false;
}

void wait_list_remove(struct wait_list *list, struct waiter *waiter)
{
    if (waiter->is_waiting && !wait_list_take_out(&list->waiting, waiter)) {
        wait_list_take_out(&list->serving, waiter);
    }
    waiter->is_waiting = false;
    waiter->next = NULL;
}

void wait_list_serve(struct wait_list *list, const struct err *err)
{
    list->serving = list->waiting;
    list->waiting = NULL;
    while (list->serving) {
        struct waiter *waiter = list->serving;
        list->serving = waiter->next;
        waiter->next = NULL;
        waiter->is_waiting = false;
        waiter->ready(waiter->context, err);
    }
}
