/*
 * tcp_probe.h: notifies when a port of a booting machine accepts connections.
 *
 * The kernel resends a lost SYN after one second, then two, then four, so a single attempt notices
 * an open port late. A probe therefore starts a new attempt periodically while older ones are still
 * pending; the first to connect wins. No data is sent.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct tcp_probe;

/* Called once; the probe has stopped by then. */
typedef void tcp_probe_open_fn(void *context);

/* Tries immediately, then every 50 to 100 ms, or every 200 ms with very many probes. Returns NULL
 * if `address` is not an IPv4 or IPv6 address: names must be resolved by the user's ssh
 * configuration. */
struct tcp_probe *tcp_probe_start(struct loop *loop, struct str address, uint16_t port,
                                  tcp_probe_open_fn *open, void *context);

/* Why the last attempt failed: "connection refused"; empty: no response so far. */
struct str tcp_probe_why(const struct tcp_probe *probe);

void tcp_probe_end(struct tcp_probe *probe); /* also from its callback; NULL is allowed */
