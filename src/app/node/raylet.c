/* raylet.c: finds the raylet process on this machine. */
#include "app/node/raylet.h"

#include "io/process.h"

bool raylet_is_one(int64_t pid)
{
    return pid > 0 && process_is_named(pid, "raylet");
}

static bool raylet_inspect(void *context, int64_t pid)
{
    int64_t *found = context;
    *found = raylet_is_one(pid) ? pid : 0;
    return *found == 0;
}

int64_t raylet_find(void)
{
    int64_t found = 0;
    process_each(raylet_inspect, &found);
    return found;
}
