/*
 * node_link.h: an ssh connection to a machine that may still be booting.
 *
 * Without a jump host or proxy, the port is probed first and ssh starts when it opens; otherwise
 * ssh is restarted until it connects. After that the link carries the remote command's input and
 * output. A broken link can be opened again.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/child.h"
#include "io/loop.h"
#include "remote/ssh.h"

struct node_link;

enum node_link_end {
    NODE_LINK_BROKE, /* can be opened again */
    NODE_LINK_ENDED, /* the remote command exited; see `status` */
    NODE_LINK_FAILED /* permanent; see `err` */
};

struct node_link_hooks {
    void *context;
    void (*waiting)(void *context, struct str why); /* called when the reason changes */
    void (*line)(void *context, struct str line);   /* a line of standard output */
    void (*drained)(void *context);                 /* all input was written */
    /* `status` is for NODE_LINK_ENDED; `why` is the last message of ssh or of the command. The link
     * is closed at this point. Never called from inside a node_link function. */
    void (*ended)(void *context, enum node_link_end end, int status, struct str why,
                  const struct err *err);
};

struct node_link_setup {
    struct loop *loop;
    struct child_pool *children;
    struct ssh_target place;
    struct str command;  /* run by the login shell */
    const char *answers; /* prefix of its first line; earlier lines are ignored */
    struct node_link_hooks hooks;
};

/* Copies everything except `answers`. The new link is closed. */
struct node_link *node_link_new(const struct node_link_setup *setup);
void node_link_free(struct node_link *link); /* may be called from a hook; NULL is allowed */

/* Connects, retrying for up to `contact_ms`. The link must be closed. */
void node_link_open(struct node_link *link, int64_t contact_ms);
/* Calls no hook. */
void node_link_close(struct node_link *link);

/* Queues input. More than CHILD_INPUT_MAX unsent bytes break the link: wait for `drained`. */
void node_link_write(struct node_link *link, struct str bytes);
