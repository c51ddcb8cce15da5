/*
 * remote_line.h: a user's command as the one line that ssh gives to the shell of another machine,
 * in the environment that Ray gives it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "config/config.h"

#include <stdbool.h>

/* A word that no shell changes, written as Python's shlex.quote() writes it. */
void remote_line_quote(struct buf *out, struct str word);

/* Text that is longer than this is cut off by no kernel and no ssh. */
enum { REMOTE_LINE_BYTES_MAX = 128 * 1024 };

enum remote_keeper { REMOTE_DIRECT, REMOTE_SCREEN, REMOTE_TMUX };

struct remote_line {
    struct str command;
    enum remote_keeper keeper;          /* what it goes on in after we have left */
    struct str afterwards;              /* run there when the kept command has ended; or empty */
    struct str screen_arguments;        /* for screen, as they are */
    const struct config_docker *docker; /* the container it runs in; NULL: none */
    bool has_terminal;
    struct str
        hop; /* words of an ssh from there to another machine, ending with a blank; or empty */
};

/* "bash --login -c -i '...'" */
struct str remote_line_make(const struct remote_line *line, struct arena *arena);

/* The container of the head that a command runs in, by --run-env (auto, host, docker; NULL: auto);
 * NULL: none. A command that begins with docker (or podman) is meant for the machine. */
const struct config_docker *remote_line_docker(const struct config *config, const char *run_env,
                                               struct str command);
