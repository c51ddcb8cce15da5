/*
 * node_link.h: an ssh connection to a machine that may still be booting, kept until it answers.
 *
 * Without a way round (a jump host, a proxy) the port is tried first, and ssh is started when it
 * opens; else ssh is started again and again. What the command at the other end then says and is
 * told goes through here. A link that broke can be opened again.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/child.h"
#include "io/loop.h"
#include "remote/ssh.h"

struct node_link;

enum node_link_end {
    NODE_LINK_BROKE, /* it may be opened again */
    NODE_LINK_ENDED, /* the command there ended by itself, with a status */
    NODE_LINK_FAILED /* there is none, and will be none: err */
};

struct node_link_hooks {
    void *context;
    void (*waiting)(void *context, struct str why); /* when it changes */
    void (*line)(void *context, struct str line);   /* of its standard output */
    void (*drained)(void *context);                 /* all that was written has left */
    /* `status` of NODE_LINK_ENDED; `why`: the last words of ssh or of the command. The link is at
     * rest then. Not called from inside a call. */
    void (*ended)(void *context, enum node_link_end end, int status, struct str why,
                  const struct err *err);
};

struct node_link_setup {
    struct loop *loop;
    struct child_pool *children;
    struct ssh_place place;
    struct str command;  /* for the login shell */
    const char *answers; /* how the first line of it begins; lines before that are noise */
    struct node_link_hooks hooks;
};

/* Everything is copied, but `answers`. At rest. */
struct node_link *node_link_new(const struct node_link_setup *setup);
void node_link_free(struct node_link *link); /* also from a hook; NULL is fine */

/* Tries for so long. Only at rest. */
void node_link_open(struct node_link *link, int64_t contact_ms);
/* To rest, nobody is told. */
void node_link_close(struct node_link *link);

/* Wait for `drained` before there is more than CHILD_INPUT_MAX: that breaks the link. */
void node_link_write(struct node_link *link, struct str bytes);
