/*
 * node_session.h: one node set up over one ssh connection, from "does it answer?" to the last step.
 *
 *     waiting for ssh -> this program is sent -> hello -> [whoever asked copies files] ->
 *     request -> step events -> done
 *
 * A link that breaks is opened again and the steps go on being followed; nothing is done twice. The
 * connection is shared (ssh's ControlMaster), so that rsync and others ride on it while it lasts.
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
    /* This program for a machine of that architecture ("x86_64"): its path. */
    bool (*payload)(void *context, struct str machine, struct arena *arena, struct str *ret_path,
                    struct err *err);
    /* Something about the waiting: "connection refused", "host key not known"; for people. */
    void (*waiting)(void *context, struct str why);
    /* The node is there. Told once; answer with node_session_send(), now or later. A session that
     * was opened again after a broken link sends the request of before by itself. The host key, if
     * there is a new one, must be on disk when this returns, beside the one of before; that one can
     * go when `rotated` says so, or a later session's greeting has no key any more. */
    void (*hello)(void *context, const struct node_hello *hello);
    /* The new host key is shown from now on, and the one of before can be forgotten; or it is not
     * (no root there), and `why`. May be NULL. */
    void (*rotated)(void *context, bool is_ok, struct str why);
    void (*event)(void *context, const struct step_event *event);
    /* Exactly once. Not fine: `err` says what, and whether ssh or a step has failed was told. */
    void (*done)(void *context, bool is_ok, const struct err *err);
};

struct node_session_setup {
    struct loop *loop;
    struct child_pool *children;
    struct ssh_place place;
    int64_t contact_ms; /* how long ssh may take to answer; 0: 15 minutes */
    struct node_session_hooks hooks;
};

/* Everything is copied. Returns at once. The connection lasts until node_session_close(), for
 * whoever rides on it, also after `done`. */
struct node_session *node_session_open(const struct node_session_setup *setup);
void node_session_send(struct node_session *session, const struct node_request *request);
/* Ends the connection without a word; what runs on the node goes on. Also from a hook. */
void node_session_close(struct node_session *session); /* NULL is fine */
