/*
 * node_session.h: sets up one node over one ssh connection.
 *
 *     connect -> send this program -> hello -> [the caller copies files] ->
 *     request -> step events -> done
 *
 * A broken link is reopened, and the steps are followed from there; nothing runs twice. The
 * connection is shared (ssh's ControlMaster), so that rsync and others can use it while it is open.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/child.h"
#include "io/loop.h"
#include "remote/node_request.h"
#include "remote/ssh.h"
#include "remote/step_event.h"

struct node_session;

struct node_session_hooks {
    void *context;
    /* Returns the path of this program for the given architecture ("x86_64"). */
    bool (*payload)(void *context, struct str machine, struct arena *arena, struct str *ret_path,
                    struct err *err);
    /* Why it is still waiting, for display: "connection refused", "host key not known". */
    void (*waiting)(void *context, struct str why);
    /* The node is reachable. Called once; respond with node_session_send(), now or later. After a
     * reconnect the session repeats the request by itself. A new host key in the greeting must be
     * on disk, in addition to the old one, when this returns. The old one may be deleted once
     * `rotated` succeeds, or when the greeting of a later session has no new key. */
    void (*hello)(void *context, const struct node_hello *hello);
    /* The new host key is in use and the old one can be deleted; or installing it failed because of
     * `why` (for example no root access). May be NULL. */
    void (*rotated)(void *context, bool is_ok, struct str why);
    void (*event)(void *context, const struct step_event *event);
    /* Called exactly once. On failure `err` says what failed; the details were reported by the
     * other hooks. */
    void (*done)(void *context, bool is_ok, const struct err *err);
};

struct node_session_setup {
    struct loop *loop;
    struct child_pool *children;
    struct ssh_target place;
    int64_t contact_ms;  /* time limit for connecting; 0: 15 minutes */
    bool keeps_host_key; /* the machine's host key is the user's and is never replaced */
    struct node_session_hooks hooks;
};

/* Copies everything and returns immediately. The connection stays open until node_session_close(),
 * also after `done`, for others that share it. */
struct node_session *node_session_open(const struct node_session_setup *setup);
void node_session_send(struct node_session *session, const struct node_request *request);
/* Closes the connection without calling a hook; steps on the node keep running. May be called from
 * a hook. */
void node_session_close(struct node_session *session); /* NULL is allowed */
