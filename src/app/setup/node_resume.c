/* node_resume.c: restarts Ray on the head after a reboot, with the commands stored by `up`. */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "app/setup/setup_plan.h"
#include "io/file.h"
#include "remote/step_run.h"

#include <stdio.h>

int node_resume(const char *run)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct buf text;
    struct err err;
    char key[STEP_KEY_SIZE];
    buf_init(&text, BUNDLE_BYTES_MAX);
    const char *steps = tools_home(&arena, "~/.shoal/steps");
    bool ok = file_read_secret(tools_home(&arena, SETUP_STARTS_FILE), &text, &err) &&
              step_run_start(steps, buf_str(&text), str_from(run), key, &err);
    if (!ok) {
        fprintf(stderr, "error: %s\n", err.text);
    }
    buf_wipe(&text);
    return ok ? 0 : err.kind == ERR_EXISTS ? NODE_RESUME_BUSY : 1;
}
