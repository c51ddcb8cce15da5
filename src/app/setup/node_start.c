/*
 * node_start.c: what a start command of the head is told about the Ray that it starts.
 *
 * Which Ray that is, is known only here, after the file's commands: the answer is shell text for
 * eval, in front of the command (start_command.h).
 */
#include "app/setup/node_words.h"

#include "app/setup/ray_find.h"
#include "app/setup/start_command.h"
#include "ray/version.h"

#include <stdio.h>

int node_start(void)
{
    struct arena arena;
    arena_init(&arena);
    struct str version = ray_find_noted(&arena);
    if (ray_find_is_old(version)) {
        fprintf(stderr,
                "warning: Ray %.*s is older than " RAY_VERSION_TOKEN ": its own autoscaler keeps "
                "the workers, and authentication by token is off\n",
                STR_ARG(version));
        printf("unset " START_MONITOR " RAY_enable_autoscaler_v2 RAY_AUTH_MODE\n");
    } else {
        printf("export " START_MONITOR "=--no-monitor\n");
    }
    arena_clear(&arena);
    return fflush(stdout) == 0 ? 0 : 1;
}
