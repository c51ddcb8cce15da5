/* remote_line.c: builds nested quoted commands in Ray's order: keeper, container, login shell. */
#include "cli/remote_line.h"

#include "app/cluster_state.h"
#include "app/setup/setup_plan.h"
#include "base/encode.h"
#include "base/shell_quote.h"

#include <string.h>

enum { KEY_FILE_NAME_BYTES_MAX = 4096 };

void remote_line_quote(struct buf *out, struct str word)
{
    shell_quote(out, word);
}

/* The same in the arena, after `before`. */
static struct str remote_line_quoted(struct arena *arena, struct str before, struct str word)
{
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)REMOTE_LINE_BYTES_MAX * 16);
    buf_add(&out, before);
    remote_line_quote(&out, word);
    return arena_str(arena, buf_str(&out));
}

static struct str kept(const struct remote_line *line, struct arena *arena)
{
    struct str command = arena_printf(arena, "%.*s%s%.*s; exec bash", STR_ARG(line->command),
                                      line->afterwards.len > 0 ? "; " : "",
                                      STR_ARG(line->afterwards));
    struct str extra = line->screen_arguments;
    switch (line->keeper) {
    case REMOTE_SCREEN:
        return remote_line_quoted(arena,
                                  arena_printf(arena, "screen -L -dm %.*s%sbash -c ",
                                               STR_ARG(extra), extra.len > 0 ? " " : ""),
                                  command);
    case REMOTE_TMUX:
        return remote_line_quoted(arena, STR("tmux new -d bash -c "), command);
    case REMOTE_DIRECT:
        break;
    }
    return line->command;
}

/*
 * The variables are Ray's. An interactive shell prints warnings without a terminal (Ray always
 * allocates one, which merges stdout and stderr): its output is discarded until it runs the
 * command.
 */
static struct str in_login_shell(struct str command, bool has_terminal, struct arena *arena)
{
    struct str inner = arena_printf(
        arena, "%ssource ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && (%.*s)",
        has_terminal ? "" : "exec 2>&9 9>&-; ", STR_ARG(command));
    struct str line = remote_line_quoted(arena, STR("bash --login -c -i "), inner);
    return has_terminal ? line : arena_printf(arena, "%.*s 9>&2 2>/dev/null", STR_ARG(line));
}

/* A head with an older release has no `node attend`; the command then runs without it. */
static struct str attended(struct arena *arena, struct str line)
{
    return remote_line_quoted(arena,
                              STR("sh -c 'if " SETUP_PROGRAM
                                  " node attend -- true </dev/null >/dev/null 2>&1; "
                                  "then exec " SETUP_PROGRAM " node attend -- sh -c \"$1\"; fi; "
                                  "exec sh -c \"$1\"' shoal "),
                              line);
}

struct str remote_line_make(const struct remote_line *line, struct arena *arena)
{
    struct str command = kept(line, arena);
    if (line->docker) {
        const char *program = line->docker->use_podman ? "podman" : "docker";
        struct str name = remote_line_quoted(arena, STR(""), line->docker->container_name);
        struct str before = arena_printf(arena, "%s exec %s %.*s /bin/bash -c ", program,
                                         line->has_terminal ? "-it" : "-i", STR_ARG(name));
        command = remote_line_quoted(arena, before,
                                     in_login_shell(command, line->has_terminal, arena));
    }
    command = in_login_shell(command, line->has_terminal, arena);
    if (line->is_attended && line->hop.len == 0) {
        return attended(arena, command);
    }
    return line->hop.len > 0 ? remote_line_quoted(arena, line->hop, command) : command;
}

/* The name that cluster_state_known_hosts() gives the file. ssh expands "%", so it is doubled. */
static struct str remote_line_key_file(struct str name, struct arena *arena)
{
    AUTO_BUF struct buf encoded;
    AUTO_BUF struct buf out;
    buf_init(&encoded, KEY_FILE_NAME_BYTES_MAX);
    buf_init(&out, 2 * KEY_FILE_NAME_BYTES_MAX);
    encode_uri(&encoded, name, "");
    for (size_t i = 0; i < encoded.len; i++) {
        buf_add_c(&out, encoded.ptr[i] == '%' ? "%" : "");
        buf_add_char(&out, encoded.ptr[i]);
    }
    return arena_str(arena, buf_str(&out));
}

struct str remote_line_hop(struct str user, struct str id, struct str address, bool has_terminal,
                           struct arena *arena)
{
    struct str name = cluster_state_key_name(id);
    struct str alias = arena_printf(arena, "HostKeyAlias=%.*s", STR_ARG(name));
    struct str known = arena_printf(arena, "UserKnownHostsFile=~/.shoal/cluster/known_hosts/%.*s",
                                    STR_ARG(remote_line_key_file(name, arena)));
    struct str line = arena_printf(arena, "ssh %s -o StrictHostKeyChecking=yes -o ",
                                   has_terminal ? "-tt" : "-T");
    line = arena_printf(arena, "%.*s -o ", STR_ARG(remote_line_quoted(arena, line, alias)));
    line = arena_printf(arena, "%.*s -o IdentitiesOnly=yes -i ~/ray_bootstrap_key.pem -l ",
                        STR_ARG(remote_line_quoted(arena, line, known)));
    line = arena_printf(arena, "%.*s -- ", STR_ARG(remote_line_quoted(arena, line, user)));
    return arena_printf(arena, "%.*s ", STR_ARG(remote_line_quoted(arena, line, address)));
}

const struct config_docker *remote_line_docker(const struct config *config, const char *run_env,
                                               struct str command)
{
    const struct config_docker *docker = &config->node_types[config->head_type].docker;
    bool is_auto = !run_env || strcmp(run_env, "auto") == 0;
    if (docker->image.len == 0 || docker->container_name.len == 0) {
        return NULL;
    }
    if (is_auto) {
        return str_starts(command, docker->use_podman ? "podman" : "docker") ? NULL : docker;
    }
    return strcmp(run_env, "host") == 0 ? NULL : docker;
}
