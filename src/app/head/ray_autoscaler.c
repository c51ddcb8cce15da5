/* ray_autoscaler.c: finds Ray's own autoscaler. */
#include "app/head/ray_autoscaler.h"

#include "app/head/ray/ray_monitor.h"
#include "app/setup/ray_find.h"
#include "ray/version.h"

#include <stdio.h>

void ray_autoscaler_find(struct ray_autoscaler *autoscaler, const struct head_context *head)
{
    struct arena arena;
    arena_init(&arena);
    struct str version = ray_find_noted(&arena);
    autoscaler->monitor_pid = ray_monitor_find(head->ray_address);
    bool is_left = ray_find_is_old(version) && head_context_has_monitor_option(head);
    snprintf(autoscaler->old_ray, sizeof(autoscaler->old_ray), "%.*s",
             STR_ARG(is_left ? version : STR("")));
    arena_clear(&arena);
}

bool ray_autoscaler_is_active(const struct ray_autoscaler *autoscaler)
{
    return autoscaler->monitor_pid != 0 || autoscaler->old_ray[0] != '\0';
}

struct str ray_autoscaler_text(const struct ray_autoscaler *autoscaler, struct arena *arena)
{
    if (autoscaler->old_ray[0] != '\0') {
        return arena_printf(arena,
                            "Ray %s on the head is older than " RAY_VERSION_TOKEN
                            ": Ray's own autoscaler manages the workers, and token authentication "
                            "is off",
                            autoscaler->old_ray);
    }
    if (autoscaler->monitor_pid != 0) {
        return arena_printf(arena,
                            "Ray's own autoscaler runs on this head (process %d); two autoscalers "
                            "would undo each other's work. Start Ray with --no-monitor",
                            autoscaler->monitor_pid);
    }
    return STR("");
}
