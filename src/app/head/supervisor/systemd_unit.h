/*
 * systemd_unit.h: runs the supervisor as a systemd unit, where that is possible.
 *
 * The unit is installed and enabled, so the service starts after a reboot. It is also restarted
 * when the supervisor dies, is not killed with the session that started it (KillUserProcesses), and
 * is among the last processes that the kernel kills when memory runs out.
 *
 * A service that stood down leaves BOOT_STOOD_DOWN in its folder; then the unit does not start.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define UNIT_ENVIRONMENT "environment" /* file in the folder: environment of the service */
#define UNIT_OFF "SHOAL_NO_SYSTEMD"    /* if set, systemd is not used */

struct unit_setup {
    struct str program; /* path of our executable */
    struct str folder;  /* full path */
    struct str sudo;    /* path; empty if we are root */
    uint32_t user, group;
};

/* "shoal-5c253ad0": one per folder. */
struct str unit_name(struct str folder, struct arena *arena);

/* The text of the unit file. ERR_CONFIG if a path cannot be used in a unit. */
bool unit_text(const struct unit_setup *setup, struct arena *arena, struct str *ret_text,
               struct err *err) MUST_USE;

/* The argv that installs, enables and starts the unit whose file is at `path`. NULL-terminated. */
const char *const *unit_argv(const struct unit_setup *setup, const char *path, struct arena *arena);

/* The argv that runs `argv` (NULL-terminated) as that user in its own unit, so that it outlives the
 * service and is outside its sandbox. */
const char *const *unit_words_beside(const struct unit_setup *setup, const char *const *argv,
                                     struct arena *arena);

/* The setup for this process. Fails if systemd is not running or not permitted. */
bool unit_find(const char *folder, struct arena *arena, struct unit_setup *ret_setup,
               struct err *err) MUST_USE;

/* True if the unit runs and holds its lock. */
bool unit_start(const char *folder, struct arena *arena, struct err *err) MUST_USE;

/* Called first by the supervisor in a unit: sets the stored environment. */
void unit_take_environment(const char *folder);
