/* ray_autoscaler.h: does Ray's own autoscaler manage the workers of this head? */
#pragma once

#include "app/head/head_context.h"

struct ray_autoscaler {
    int monitor_pid;  /* pid of Ray's monitor; 0 if none */
    char old_ray[64]; /* version of a Ray that keeps its own autoscaler; else empty */
};

/* Looks for its process, and at the Ray version, which is known after the head's setup commands. */
void ray_autoscaler_find(struct ray_autoscaler *autoscaler, const struct head_context *head);
bool ray_autoscaler_is_active(const struct ray_autoscaler *autoscaler);
/* For the status; empty if it is not active. */
struct str ray_autoscaler_text(const struct ray_autoscaler *autoscaler, struct arena *arena);
