/*
 * remote_line.h: builds the command line that ssh passes to a remote shell, with the environment
 * that Ray sets.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "config/config.h"

#include <stdbool.h>

/* Quotes a word like Python's shlex.quote(). */
void remote_line_quote(struct buf *out, struct str word);

/* Limit for a line, below those of kernels and ssh. */
enum { REMOTE_LINE_BYTES_MAX = 128 * 1024 };

enum remote_keeper { REMOTE_DIRECT, REMOTE_SCREEN, REMOTE_TMUX };

struct remote_line {
    struct str command;
    enum remote_keeper keeper;          /* keeps the command running after we disconnect */
    struct str afterwards;              /* runs on the node after `command`; may be empty */
    struct str screen_arguments;        /* arguments for screen, unchanged */
    const struct config_docker *docker; /* container to run in; NULL: none */
    bool has_terminal;
    struct str hop; /* ssh command from there to another machine, ends with a blank; may be empty */
    bool is_attended; /* stops when the connection closes (app/node/attend.h) */
};

/* "bash --login -c -i '...'" */
struct str remote_line_make(const struct remote_line *line, struct arena *arena);

/* The ssh command from the head to a worker, for `hop`. Id and address come from the head and are
 * quoted. */
struct str remote_line_hop(struct str user, struct str id, struct str address, bool has_terminal,
                           struct arena *arena);

/* The head's container for a command, selected by --run-env (auto, host, docker; NULL: auto); NULL:
 * none. With auto, a command that starts with docker (or podman) runs on the host. */
const struct config_docker *remote_line_docker(const struct config *config, const char *run_env,
                                               struct str command);
