/*
 * metrics_port.h: where Prometheus asks for the metrics.
 *
 * Nothing of the service depends on it: a port that somebody else has is tried again now and then,
 * and the trouble is told once.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <stdint.h>

struct metrics_port;

struct metrics_port_setup {
    struct loop *loop;
    const char *address; /* of this machine; must outlive it */
    uint16_t port;       /* 0: any that is free */
    void *context;
    void (*write)(void *context, struct buf *out);
    void (*listening)(void *context, uint16_t port);
    void (*trouble)(void *context, const struct err *err);
};

/* Hooks are called from the loop only. */
struct metrics_port *metrics_port_open(const struct metrics_port_setup *setup);
void metrics_port_close(struct metrics_port *port); /* NULL is fine */
