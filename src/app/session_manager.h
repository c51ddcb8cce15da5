/*
 * session_manager.h: ssh to the head through AWS Session Manager (metadata.shoal.access: ssm). No
 * port is open to other networks: ssh talks to the AWS CLI, which reaches the instance by its id.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "config/config.h"

#include <stddef.h>

/* The ProxyCommand for ssh, which replaces %h by the instance id. `profile` may be empty. */
struct str session_manager_proxy(const struct config *config, struct str profile,
                                 struct arena *arena);

/* The programs that this needs and that are in no folder of `path` (the variable PATH); NULL at the
 * end. */
enum { SESSION_MANAGER_PROGRAMS = 2 };
void session_manager_missing(const char *path,
                             const char *ret_missing[SESSION_MANAGER_PROGRAMS + 1]);
