/*
 * local_socket.h: lines between processes of one user on one machine, over a socket with a name.
 *
 * A server listens at a path that only this user can reach. Both ends of a connection are a link:
 * it hands out whole lines and takes bytes to be written, both within bounds. Whoever does not read
 * what is written to it is cut off, so that one slow reader costs its own connection and nothing
 * else.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- one connection ---- */

struct local_link;

struct local_link_hooks {
    void *context;
    /* One line without its end. Valid during the call. */
    void (*line)(void *context, struct str line);
    /*
     * Once: nothing more will be heard. ERR_NONE: the other side has said all it wanted to say; it
     * may still read. Else the connection is of no use any more: cut off, a line too long, nobody
     * there. The link stays until it is closed.
     */
    void (*ended)(void *context, const struct err *err);
};

/* What is zero takes the default named behind it. */
struct local_link_limits {
    size_t line_max;    /* 1 MB */
    size_t waiting_max; /* bytes that the other side has not read yet; 8 MB */
};

/* Connects in the background; what is written meanwhile goes when it is done. Failing to connect
 * is told by ended(), a path that is no address of a socket at once. */
bool local_link_open(struct loop *loop, const char *path, const struct local_link_limits *limits,
                     const struct local_link_hooks *hooks, struct local_link **ret_link,
                     struct err *err) MUST_USE;

/* Copied. Whoever does not read so much is cut off, and ended() is told so. */
void local_link_write(struct local_link *link, struct str bytes);

/* Closes it once everything was written; no hook is called any more. */
void local_link_finish(struct local_link *link);
/* At once, without a word; also from a hook; NULL is fine. */
void local_link_close(struct local_link *link);

/* ---- a server ---- */

struct local_server;

/* A new connection. Say whose it is with local_link_begin() before this returns; else it closes. */
typedef void local_accept_fn(void *context, struct local_link *link);

/*
 * The folder of `path` is made private to this user, the socket is for this user only. What is left
 * of a server that has died is replaced; one that lives is ERR_EXISTS.
 */
bool local_server_open(struct loop *loop, const char *path, const struct local_link_limits *limits,
                       local_accept_fn *accepted, void *context, struct local_server **ret_server,
                       struct err *err) MUST_USE;
void local_link_begin(struct local_link *link, const struct local_link_hooks *hooks);
/* Closes the links that it accepted as well, without a word. NULL is fine. */
void local_server_close(struct local_server *server);

/* ---- without a loop ---- */

/* A connected descriptor. ERR_NOT_FOUND: there is no such socket. ERR_UNAVAILABLE: nobody listens.
 */
bool local_socket_connect(const char *path, int *ret_fd, struct err *err) MUST_USE;
