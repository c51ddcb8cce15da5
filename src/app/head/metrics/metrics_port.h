/*
 * metrics_port.h: the port that Prometheus scrapes.
 *
 * The service does not depend on it: if the port is in use, opening is retried periodically and the
 * error is reported once.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <stdint.h>

struct metrics_port;

struct metrics_port_setup {
    struct loop *loop;
    const char *address; /* address of this machine; must outlive the port */
    uint16_t port;       /* 0 for any free port */
    void *context;
    void (*write)(void *context, struct buf *out);
    void (*listening)(void *context, uint16_t port);
    void (*trouble)(void *context, const struct err *err);
};

/* Hooks are called from the loop only. */
struct metrics_port *metrics_port_open(const struct metrics_port_setup *setup);
void metrics_port_close(struct metrics_port *port); /* NULL is fine */
