/* autoscaler_run.h: what `shoal autoscaler` does. On macOS it only says that it needs Linux. */
#pragma once

#include "cli/verb.h"

struct autoscaler_fields {
    const char *folder;
    bool is_background;
    bool is_supervisor;
};

/* `fields` are autoscaler_fields. Returns the exit status. */
int autoscaler_run(const struct cli *cli, const void *fields);
