/*
 * tcp_probe.h: to be told when a port of a machine that is booting takes connections.
 *
 * A kernel repeats a lost packet after one second, then two, then four: whoever waits for one
 * connection hears of an open port late. So a new connection is tried every while, beside those
 * that have had no answer yet; the first to be taken counts. Nothing is sent over it.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct tcp_probe;

/* Called once; the probe is at rest then. */
typedef void tcp_probe_open_fn(void *context);

/* Tries at once, then every 50 to 100 ms; every 200 when there are very many probes. NULL when
 * `address` is no number of IPv4 or IPv6: names are for whoever knows the user's ssh
 * configuration. */
struct tcp_probe *tcp_probe_start(struct loop *loop, struct str address, uint16_t port,
                                  tcp_probe_open_fn *open, void *context);

/* Why the last connection was not taken: "connection refused"; empty: no answer so far. */
struct str tcp_probe_why(const struct tcp_probe *probe);

void tcp_probe_end(struct tcp_probe *probe); /* also from its own callback; NULL is fine */
