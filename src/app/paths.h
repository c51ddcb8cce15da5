/* paths.h: the folder of the service on the head, and the names in it. */
#pragma once

#include "base/arena.h"

#define SERVICE_FOLDER "~/.shoal/cluster"
#define SERVICE_SOCKET "ctl.sock" /* names in the service's folder */
#define SERVICE_LOG "service.log"
#define SERVICE_LOCK "supervisor.lock"

/* The full path of the given folder; the default for NULL. */
const char *service_folder(const char *given, struct arena *arena);
