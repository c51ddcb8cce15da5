/* display.h: shows `up` or `down` to the user: implements the launcher's hooks with a progress
 * display. */
#pragma once

#include "cli/progress/progress.h"
#include "cli/target.h"

struct show {
    struct target *target;
    struct progress *progress;
    size_t thing_count;        /* created by `up` or removed by `down` */
    struct str thing_kinds[8]; /* their distinct kinds: "key pair" */
    size_t thing_kind_count;
    bool is_down;
};

/* Sets the hooks of the target's launcher_setup; the target must be connected. */
void show_open(struct show *show, struct target *target, bool is_down);

/* Draws the final state, then describes failed nodes. Returns the number of failed nodes. */
size_t show_end(struct show *show);

/* After an interruption, lists what is running and costs money: "Left running: head (i-0f2),
 * ...". */
void show_left(struct show *show);

void show_close(struct show *show);
