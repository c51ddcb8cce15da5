/* service_exit.h: what the process does after the service has stopped. */
#pragma once

#include "base/str.h"

enum service_exit {
    SERVICE_GOES_ON,
    SERVICE_STANDS_DOWN, /* on request; the supervisor exits too */
    SERVICE_ENDS,        /* shut down the machine */
    SERVICE_RESTART,     /* restart with a new handover */
};

/* Becomes the next program, if there is one. Otherwise returns the exit status of the process. */
int service_exit_become(enum service_exit end, struct str program, const char *folder);
