/*
 * progress.h: what happens to a cluster, shown on standard error as it happens: on a terminal one
 * picture that is redrawn in place and stays when it is over, elsewhere one line per change with
 * its time.
 */
#pragma once

#include "app/head/channel/ctl.h"
#include "app/view.h"
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
    struct loop *loop; /* NULL: nothing happens between calls */
};

struct progress *progress_new(const struct progress_setup *setup);
void progress_free(struct progress *progress); /* NULL is fine; see progress_end() */

/* Whose cluster it is: "123456789012 (profile work)". */
void progress_account(struct progress *progress, struct str account);
void progress_node(struct progress *progress, const struct node_view *view);
void progress_thing(struct progress *progress, const struct provider_thing *thing);
void progress_note(struct progress *progress, struct str text);
void progress_status(struct progress *progress, const struct ctl_status *status);

/* Something of another kind, above the picture; ends with a line's end. */
void progress_print(struct progress *progress, struct str text);

/* Draws it a last time; nothing is drawn after that. What is printed next stands below it. */
void progress_end(struct progress *progress);

/* Every node that was told of, in the order of their first mention. */
const struct node_view *progress_nodes(const struct progress *progress, size_t *ret_count);

/* Should this stream be redrawn? Not for files, dumb terminals and CI. */
bool progress_can_redraw(FILE *stream);
