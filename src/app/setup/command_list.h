/*
 * command_list.h: the commands of one node with where the file has them.
 *
 * Ray joins setup_commands with those of the head or the workers; people know them by the keys that
 * they have written.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "config/config.h"

struct command_item {
    struct str text;
    struct str path; /* "setup_commands[2]" */
    bool is_default; /* Ray's, and not written in the file */
};

struct command_list {
    struct command_item *items;
    size_t count;
};

/* Initialization, set-up and start commands. Without Ray's own set-up commands: what they bring
 * (boto3, for Ray's monitor) is not needed with Shoal. */
struct command_list command_list_first(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena);
struct command_list command_list_set_up(const struct config *config,
                                        const struct config_node_type *type, struct arena *arena);
struct command_list command_list_start(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena);

/* The program that the very first command calls, if it is one that bare machines often lack ("pip",
 * "docker", "conda", "git", ...): without it nothing can go well. NULL: nothing is known. */
const char *command_list_need(const struct command_list *first, const struct command_list *set_up);
