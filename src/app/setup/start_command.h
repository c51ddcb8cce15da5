/*
 * start_command.h: rewrites the file's commands that start Ray.
 *
 * Our service replaces Ray's monitor, so the monitor's option is removed from the head's command.
 * Commands are shell text of the user: only whole options are changed.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { RAY_GCS_PORT = 6379 };

/* Does the command start Ray? This is Ray's own test. */
bool start_command_is_ray(struct str command);

/* The value of an option such as "--port", with or without '='. False if the option is absent. */
bool start_command_option(struct str command, const char *name, struct str *ret_value);

#define START_STORE "RAY_gcs_storage_path" /* Ray's variable */
#define START_MONITOR "SHOAL_MONITOR"      /* shell variable of the head's command */

/*
 * For the head: replaces --autoscaling-config with --no-monitor, unless the installed Ray is too
 * old for our autoscaler. The shell finds that out by first evaluating the output of `asks`
 * (head_start_env.c). If `is_default` is set, the command is Ray's default and not from the file:
 * the dashboard then does not listen on all addresses.
 */
struct str start_command_for_head(struct str command, bool is_default, const char *asks,
                                  struct arena *arena);

/*
 * For a head with its GCS on disk: the command takes the folder from the output of `asks`, and does
 * not run if `asks` fails. Commands other than `ray start` are returned unchanged.
 */
struct str start_command_with_store(struct str command, const char *asks, struct arena *arena);

/* Is the dashboard reachable from other machines? */
bool start_command_opens_dashboard(struct str command, struct str *ret_host);

/* A plain `ray stop` takes a second even if nothing is running. The command `calm` checks that
 * cheaply and skips it. Other commands are returned unchanged. */
struct str start_command_with_quick_stop(struct str command, const char *calm, struct arena *arena);

/* The port of the GCS, from the head's commands; 0 if they do not give it as a number. */
uint32_t start_command_port(const struct str *commands, size_t count);
