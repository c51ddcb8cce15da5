/*
 * head_start_env.c: prints the settings for the Ray that a start command of the head starts.
 *
 * Ray's version is only known here, after the file's commands have run. The output is shell text
 * that is passed to eval before the command (start_command.h).
 */
#include "app/setup/node_jobs.h"

#include "app/setup/ray_find.h"
#include "app/setup/start_command.h"
#include "ray/version.h"

#include <stdio.h>

int node_start(void)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str version = ray_find_noted(&arena);
    if (ray_find_is_old(version)) {
        fprintf(stderr,
                "warning: Ray %.*s is older than " RAY_VERSION_TOKEN ": its own autoscaler "
                "manages the workers, and "
                "token authentication is "
                "off\n",
                STR_ARG(version));
        printf("unset " START_MONITOR " RAY_enable_autoscaler_v2 RAY_AUTH_MODE\n");
    } else {
        printf("export " START_MONITOR "=--no-monitor\n");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
