/*
 * command_list.h: the commands of one node, with their positions in the file.
 *
 * Ray concatenates setup_commands with the commands of the head or the workers; users know them by
 * the keys that they wrote.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "config/config.h"

struct command_item {
    struct str text;
    struct str path; /* "setup_commands[2]" */
    bool is_default; /* Ray's default, not written in the file */
};

struct command_list {
    struct command_item *items;
    size_t count;
};

/* The initialization, setup and start commands. Ray's default setup commands are omitted: they
 * install boto3 for Ray's monitor, which Shoal does not need. */
struct command_list command_list_first(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena);
struct command_list command_list_set_up(const struct config *config,
                                        const struct config_node_type *type, struct arena *arena);
struct command_list command_list_start(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena);

/* The program that the first command calls, if bare machines often lack it ("pip", "docker",
 * "conda", "git", ...), because then the setup is sure to fail. NULL if unknown. */
const char *command_list_need(const struct command_list *first, const struct command_list *set_up);
