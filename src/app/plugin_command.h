/*
 * plugin_command.h: the argv of a plug-in (provider.command), on the laptop and on the head.
 *
 * A word that starts with "~/", "./" or "../" is a file of the user, relative to the folder of the
 * cluster file: the laptop sends it to the head, where the word is the path of the copy. Other
 * words are the same on both.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "remote/node_request.h"

#include <stdbool.h>
#include <stddef.h>

/* Ends with NULL. */
const char *const *plugin_command_argv(const struct config *config, bool is_on_head,
                                       struct arena *arena);

/* The files for the head. `*ret_files` is in `arena`. */
bool plugin_command_files(const struct config *config, struct arena *arena,
                          struct node_file **ret_files, size_t *ret_count,
                          struct err *err) MUST_USE;

/* A path that is relative to the folder of the cluster file in which `value` is. */
struct str plugin_command_path(const struct value *value, struct str path, struct arena *arena);
