/* command.h: runs a command on the head in our terminal; shared by exec, submit and attach. */
#pragma once

#include "cli/remote_line.h"
#include "cli/target.h"

/* Options; each verb has them as a member `command` of its own struct. */
struct command_fields {
    bool start, stop, screen, tmux;
    struct option_numbers ports;
};

#define COMMAND_START_OPTION(type)                                          \
    {                                                                       \
        "start", 0, OPTION_FLAG, offsetof(type, command.start), NULL, NULL, \
            "Start the cluster first, without asking, if it has no head."   \
    }
#define COMMAND_STOP_OPTION(type)                                                                 \
    {                                                                                             \
        "stop", 0, OPTION_FLAG, offsetof(type, command.stop), NULL, NULL,                         \
            "Terminate the cluster, without asking, when the command has finished, whatever its " \
            "result. With --screen or --tmux, the head does this; the key pair, security group "  \
            "and IAM role remain until shoal down."                                               \
    }
#define COMMAND_SCREEN_OPTION(type)                                           \
    {                                                                         \
        "screen", 0, OPTION_FLAG, offsetof(type, command.screen), NULL, NULL, \
            "Run the command in a screen session on the head and return."     \
    }
#define COMMAND_TMUX_OPTION(type)                                         \
    {                                                                     \
        "tmux", 0, OPTION_FLAG, offsetof(type, command.tmux), NULL, NULL, \
            "Run the command in a tmux session on the head and return."   \
    }
#define COMMAND_PORT_OPTION(type)                                                         \
    {                                                                                     \
        "port-forward", 'p', OPTION_NUMBERS, offsetof(type, command.ports), "PORT", NULL, \
            "Forward this local port to the same port on the head while the "             \
            "command runs. Can be repeated."                                              \
    }

/* Checks that the options can be combined. Fails with ERR_USAGE. */
bool command_check(const struct command_fields *given, struct err *err) MUST_USE;

/* Checks them against the file, for a command in that container (NULL: none). Requires
 * target_connect(). */
bool command_check_end(const struct target *target, const struct command_fields *given,
                       const struct config_docker *docker, struct err *err) MUST_USE;

/* Finds the head and how to reach it, after creating it if --start is set. Returns the exit status;
 * 0: found. */
int command_find(struct target *target, const struct command_fields *given,
                 struct launcher_head *ret_head, struct ssh_target *ret_place) MUST_USE;

/*
 * The hop from the head to another node, by its name ("worker-2"), id or address; empty if it is
 * the head itself (or `node` is empty). Workers are reached from the head, which has their keys.
 * ERR_NOT_FOUND names the nodes there are.
 */
bool command_find_node(struct target *target, const struct launcher_head *head,
                       const struct ssh_target *place, struct str node, struct str *ret_hop,
                       struct err *err) MUST_USE;

/* Runs the command there, with our terminal if there is one, and deletes the cluster afterwards if
 * --stop is set. Returns the exit status of the command, or 255 for an ssh failure. */
int command_run(struct target *target, const struct command_fields *given,
                const struct ssh_target *place, struct remote_line *line) MUST_USE;

/*
 * A script runs one command on the head: without a terminal, --start, --screen and --tmux. It gets
 * one ssh connection, which ends with the command. The head is the stored one
 * (app/launch/head_connection.h); if ssh does not log in there, the cloud is asked, and the command
 * runs on the head that it names. A command that may have started is never run again.
 */
bool command_is_alone(const struct command_fields *given);
int command_run_alone(struct target *target, const struct command_fields *given,
                      struct remote_line *line) MUST_USE;
