/*
 * calls.h: the provider calls of a controller that are in flight.
 *
 * A reply may arrive after the controller was closed, so a call lives in the session's memory.
 * Every completion callback starts with call_end(), which returns NULL in that case.
 */
#pragma once

#include "base/arena.h"
#include "io/loop.h"

#include <stddef.h>
#include <stdint.h>

struct controller;

/* The context of one call. Calls are recycled. */
struct call {
    struct controller *controller; /* NULL once the controller is closed */
    struct call_list *list;        /* valid until then */
    struct call *next;
    int64_t asked_at;
    uint64_t launch;
    uint32_t offering;
    uint64_t *instances; /* heap */
    size_t count;
    void *extra; /* of the module that called; freed with extra_free() */
    void (*extra_free)(void *extra);
};

struct call_list {
    struct controller *controller;
    struct loop *loop;
    struct arena *memory; /* of the session */
    struct call *open;
    struct call *spare;
};

struct call *call_begin(struct call_list *calls);
/* The call's fields stay valid until the next call_begin(), so that the callback can read them. */
struct controller *call_end(struct call *call);
void call_free(struct call *call);

/* The controller is closed: replies are ignored. */
void calls_clear(struct call_list *calls);
