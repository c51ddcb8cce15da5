/*
 * line_socket.h: exchanges lines with another process over a Unix domain socket or TCP.
 *
 * A server listens on a path that only this user can access, or on a TCP port, where the user of
 * this module must authenticate its peers. Both sides of a connection are links: a link reports
 * complete lines and queues output, both with limits. A peer that does not read is disconnected, so
 * that a slow reader affects only its own connection.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- one connection ---- */

struct line_link;

struct line_link_hooks {
    void *context;
    /* One line without its newline. Valid during the call. */
    void (*line)(void *context, struct str line);
    /*
     * Called once when input ends. ERR_NONE: the peer closed its sending side but may still read.
     * Otherwise the connection is unusable: disconnected, line too long, or not connected. The link
     * must still be closed.
     */
    void (*ended)(void *context, const struct err *err);
    /* All output was written. May be NULL. */
    void (*drained)(void *context);
};

/* Zero fields take the default given in their comment. */
struct line_link_limits {
    size_t line_max;    /* default 1 MB */
    size_t waiting_max; /* bytes not yet read by the peer; default 8 MB */
};

/* Connects in the background; output written before that is queued. An invalid socket path fails
 * here; a failed connection is reported by ended(). */
bool line_link_open(struct loop *loop, const char *path, const struct line_link_limits *limits,
                    const struct line_link_hooks *hooks, struct line_link **ret_link,
                    struct err *err) MUST_USE;

/* The same over TCP. `host` is an IPv4 or IPv6 address; a name fails here. */
bool line_link_open_tcp(struct loop *loop, const char *host, uint16_t port,
                        const struct line_link_limits *limits, const struct line_link_hooks *hooks,
                        struct line_link **ret_link, struct err *err) MUST_USE;

/* Copies the bytes. A peer that leaves more than waiting_max unread is disconnected and ended() is
 * called. */
void line_link_write(struct line_link *link, struct str bytes);

/* Closes the link once all output is written; no more hooks are called. */
void line_link_finish(struct line_link *link);
/* Closes immediately without calling a hook. May be called from a hook; NULL is allowed. */
void line_link_close(struct line_link *link);

/* ---- a server ---- */

struct line_server;

/* A new connection. Call line_link_begin() before returning, otherwise the connection is
 * closed. */
typedef void line_accept_fn(void *context, struct line_link *link);

/*
 * Creates the folder of `path` private to this user; only this user can access the socket. Replaces
 * the socket of a dead server; fails with ERR_EXISTS if a live one listens.
 */
bool line_server_open(struct loop *loop, const char *path, const struct line_link_limits *limits,
                      line_accept_fn *accepted, void *context, struct line_server **ret_server,
                      struct err *err) MUST_USE;
/* The same over TCP, on an address of this machine; port 0 picks a free one. Fails with ERR_EXISTS
 * if the port is in use. */
bool line_server_open_tcp(struct loop *loop, const char *host, uint16_t port,
                          const struct line_link_limits *limits, line_accept_fn *accepted,
                          void *context, struct line_server **ret_server, struct err *err) MUST_USE;
uint16_t line_server_port(const struct line_server *server); /* TCP only */
void line_link_begin(struct line_link *link, const struct line_link_hooks *hooks);
/* Also closes the links that it accepted, without calling their hooks. NULL is allowed. */
void line_server_close(struct line_server *server);

/* ---- without a loop ---- */

/* Returns a connected descriptor. ERR_NOT_FOUND: the socket does not exist. ERR_UNAVAILABLE: no
 * server listens. */
bool line_socket_connect(const char *path, int *ret_fd, struct err *err) MUST_USE;
