/* service_exit.c: restarts the service, or shuts the machine down. */
#include "app/head/service_exit.h"

#include "app/head/supervisor/supervise.h"
#include "app/program.h"
#include "io/file_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A shutdown stops a head, unless it is a spot machine or its node_config says otherwise. If
 * shutdown fails, the supervisor restarts the service. */
static int service_exit_shut_down(void)
{
    const char *const argv[] = {"/bin/sh", "-c",
                                "if [ $(id -u) = 0 ]; then exec shutdown -h now; fi; "
                                "exec sudo -n shutdown -h now",
                                NULL};
    program_become(argv);
    fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
    return 1;
}

/* exec: a new process has no leftover state and may be a newer program. */
static int service_exit_restart(struct str program, const char *folder)
{
    const char *const argv[] = {program.ptr, "autoscaler", "--folder", folder, NULL};
    file_limit_restore();
    unsetenv(SUPERVISE_CRASH_LOOPING);
    program_become(argv);
    fprintf(stderr, "cannot restart %s: %s\n", program.ptr, strerror(errno));
    return 1; /* the supervisor restarts it */
}

int service_exit_become(enum service_exit end, struct str program, const char *folder)
{
    return end == SERVICE_RESTART ? service_exit_restart(program, folder)
           : end == SERVICE_ENDS  ? service_exit_shut_down()
                                  : 0;
}
