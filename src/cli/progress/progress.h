/*
 * progress.h: shows changes of a cluster on standard error: on a terminal as one picture that is
 * redrawn in place and stays at the end, otherwise one line per change with its time.
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/model/node_view.h"
#include "io/clock.h"
#include "io/loop.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stdio.h>

struct progress;

struct progress_setup {
    FILE *out;
    bool is_live; /* redraws; needs a loop */
    bool colour;
    bool is_down;
    struct str cluster, where; /* copied */
    struct str account;        /* see progress_account() */
    const struct clock *clock;
    struct loop *loop; /* NULL: no redraws between calls */
};

struct progress *progress_new(const struct progress_setup *setup);
void progress_free(struct progress *progress); /* NULL is allowed; see progress_end() */

/* The account of the cluster: "123456789012 (profile work)". */
void progress_account(struct progress *progress, struct str account);
void progress_node(struct progress *progress, const struct node_view *view);
void progress_thing(struct progress *progress, const struct provider_resource *thing);
void progress_note(struct progress *progress, struct str text);
void progress_status(struct progress *progress, const struct ctl_status *status);

/* Prints other text above the picture; it must end with a newline. */
void progress_print(struct progress *progress, struct str text);

/* Draws the picture a last time. Later output appears below it. */
void progress_end(struct progress *progress);

/* Every node seen, in order of first appearance. */
const struct node_view *progress_nodes(const struct progress *progress, size_t *ret_count);

/* True if this stream can be redrawn. False for files, dumb terminals and CI. */
bool progress_can_redraw(FILE *stream);
