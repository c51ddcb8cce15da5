/*
 * state_server.h: starts the process from which a slot, or the trainer, serves its trees: the
 * checkpoints, and the user's files.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Serves the trees in `root` on a free port, until this process ends. */
bool state_server_start(const char *root, struct str token, int *ret_pid, uint16_t *ret_port,
                        struct err *err) MUST_USE;
