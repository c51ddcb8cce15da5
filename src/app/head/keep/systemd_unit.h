/*
 * systemd_unit.h: the supervisor as a unit of systemd, where systemd runs and may be asked.
 *
 * What that adds: the supervisor itself comes back when it dies, it does not end with the session
 * of whoever started it (KillUserProcesses), and the kernel takes others first when memory runs
 * out. The unit is a transient one and gone after a reboot, as Ray is: a service that began by
 * itself on a machine that `shoal up` has just started again would act on what was true long ago.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define UNIT_ENVIRONMENT "environment" /* in the folder: the variables that it is to have */
#define UNIT_OFF "SHOAL_NO_SYSTEMD"    /* set: leave systemd alone */

struct unit_setup {
    struct str program; /* ours, by path */
    struct str folder;  /* full */
    struct str runner;  /* systemd-run, by path */
    struct str sudo;    /* by path; empty: we are root */
    uint32_t user, group;
};

/* "shoal-5c253ad0": one for each folder of this machine. */
struct str unit_name(struct str folder, struct arena *arena);

/* The command that starts it, ended by NULL; in `arena`. */
const char *const *unit_words(const struct unit_setup *setup, struct arena *arena);

/* True: it runs, and has its lock. Else `err` says why not, and another way is to be taken. */
bool unit_start(const char *folder, struct arena *arena, struct err *err) MUST_USE;

/* What the supervisor does first when it is a unit: takes over the variables that were left. */
void unit_take_environment(const char *folder);
