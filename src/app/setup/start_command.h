/*
 * start_command.h: the commands that start Ray, as the file has them and as we run them.
 *
 * Our service takes the place of Ray's monitor, so the head's command loses the monitor's option.
 * Commands are the user's shell text: only whole options are touched, everything else stays.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { RAY_GCS_PORT = 6379 };

/* Does it start Ray? The test is Ray's own. */
bool start_command_is_ray(struct str command);

/* The value of an option such as "--port", with or without '='. False: it is not there. */
bool start_command_option(struct str command, const char *name, struct str *ret_value);

#define START_MONITOR "SHOAL_MONITOR" /* a variable of the shell that runs the head's command */

/*
 * For the head: --autoscaling-config gives way to --no-monitor, unless Ray there is too old for our
 * autoscaler: that is known to its shell, which evaluates what `asks` says first (node_start.c).
 * With `is_default`, for Ray's own command and not one of the file's, the dashboard does not listen
 * on every address.
 */
struct str start_command_for_head(struct str command, bool is_default, const char *asks,
                                  struct arena *arena);

/* Is the dashboard reached from other machines? */
bool start_command_opens_dashboard(struct str command, struct str *ret_host);

/* A plain `ray stop` takes a second, also when nothing runs: `calm` says cheaply that nothing does.
 * Anything else is given back as it is. */
struct str start_command_with_quick_stop(struct str command, const char *calm, struct arena *arena);

/* Where the GCS listens by the head's commands; 0: they do not say it as a number. */
uint32_t start_command_port(const struct str *commands, size_t count);
