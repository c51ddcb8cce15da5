/* show.h: a launch or an end as the user sees it: the launcher's hooks, drawn by a progress. */
#pragma once

#include "cli/live/progress.h"
#include "cli/target.h"

struct show {
    struct target *target;
    struct progress *progress;
    size_t thing_count; /* made by `up`, removed by `down` */
    bool is_down;
};

/* Sets the hooks of the cluster's launcher_setup; the cluster must be connected. */
void show_open(struct show *show, struct target *target, bool is_down);

/* The last picture; then failed nodes at length. Returns how many have failed. */
size_t show_end(struct show *show);

/* What is running and paid for, when it was stopped half-way: "Left running: head (i-0f2), ...". */
void show_left(struct show *show);

void show_close(struct show *show);
