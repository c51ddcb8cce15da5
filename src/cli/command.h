/* command.h: a command on the head with our terminal: what exec, submit and attach share. */
#pragma once

#include "cli/remote_line.h"
#include "cli/target.h"

/* Options; verbs have them as a member `command` of their own struct. */
struct command_fields {
    bool start, stop, screen, tmux;
    struct option_numbers ports;
};

#define COMMAND_START_OPTION(type)                                               \
    {                                                                            \
        "start", 0, OPTION_FLAG, offsetof(type, command.start), NULL, NULL,      \
            "Bring the cluster up first, without a question, if it has no head." \
    }
#define COMMAND_STOP_OPTION(type)                                               \
    {                                                                           \
        "stop", 0, OPTION_FLAG, offsetof(type, command.stop), NULL, NULL,       \
            "End the cluster, without a question, when the command has ended, " \
            "however it ended. Not together with --screen and --tmux."          \
    }
#define COMMAND_SCREEN_OPTION(type)                                           \
    {                                                                         \
        "screen", 0, OPTION_FLAG, offsetof(type, command.screen), NULL, NULL, \
            "Run it in a screen on the head, which goes on when we leave."    \
    }
#define COMMAND_TMUX_OPTION(type)                                         \
    {                                                                     \
        "tmux", 0, OPTION_FLAG, offsetof(type, command.tmux), NULL, NULL, \
            "Run it in tmux on the head, which goes on when we leave."    \
    }
#define COMMAND_PORT_OPTION(type)                                                         \
    {                                                                                     \
        "port-forward", 'p', OPTION_NUMBERS, offsetof(type, command.ports), "PORT", NULL, \
            "Make this port of the head reachable as the same port of this "              \
            "machine meanwhile. May be given several times."                              \
    }

/* Are the options of use together? ERR_USAGE says why not. */
bool command_check(const struct command_fields *given, struct err *err) MUST_USE;

/* And with this file, for a command in that container (NULL: none)? Needs target_connect(). */
bool command_check_end(const struct target *target, const struct command_fields *given,
                       const struct config_docker *docker, struct err *err) MUST_USE;

/* The head and how to reach it, after bringing it up if --start says so. The exit status; 0: it is
 * there. */
int command_find(struct target *target, const struct command_fields *given,
                 struct launcher_head *ret_head, struct ssh_place *ret_place) MUST_USE;

/* Runs it there, with our terminal if we have one, and ends the cluster afterwards if --stop says
 * so. The exit status is the command's; 255: ssh's own. */
int command_run(struct target *target, const struct command_fields *given,
                const struct ssh_place *place, struct remote_line *line) MUST_USE;
