/* remote_line.c: quotes around quotes, in Ray's order: keeper, container, login shell. */
#include "cli/remote_line.h"

#include <string.h>

static bool is_plain(struct str word)
{
    static const char others[] = "@%+=:,./-_";
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr(others, c))) {
            return false;
        }
    }
    return word.len > 0;
}

void remote_line_quote(struct buf *out, struct str word)
{
    if (is_plain(word)) {
        buf_add(out, word);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') {
            buf_add_c(out, "'\"'\"'");
        } else {
            buf_add_char(out, word.ptr[i]);
        }
    }
    buf_add_char(out, '\'');
}

/* The same in the arena, behind `before`. */
static struct str quoted(struct arena *arena, struct str before, struct str word)
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
        return quoted(arena,
                      arena_printf(arena, "screen -L -dm %.*s%sbash -c ", STR_ARG(extra),
                                   extra.len > 0 ? " " : ""),
                      command);
    case REMOTE_TMUX:
        return quoted(arena, STR("tmux new -d bash -c "), command);
    case REMOTE_DIRECT:
        break;
    }
    return line->command;
}

/*
 * The variables are Ray's. A shell that is told to be interactive complains when there is no
 * terminal (Ray makes one always, and mixes the command's two outputs by it): until it runs the
 * command its words go nowhere.
 */
static struct str in_login_shell(struct str command, bool has_terminal, struct arena *arena)
{
    struct str inner = arena_printf(
        arena, "%ssource ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore && (%.*s)",
        has_terminal ? "" : "exec 2>&9 9>&-; ", STR_ARG(command));
    struct str line = quoted(arena, STR("bash --login -c -i "), inner);
    return has_terminal ? line : arena_printf(arena, "%.*s 9>&2 2>/dev/null", STR_ARG(line));
}

struct str remote_line_make(const struct remote_line *line, struct arena *arena)
{
    struct str command = kept(line, arena);
    if (line->docker) {
        const char *program = line->docker->use_podman ? "podman" : "docker";
        struct str name = quoted(arena, STR(""), line->docker->container_name);
        struct str before = arena_printf(arena, "%s exec %s %.*s /bin/bash -c ", program,
                                         line->has_terminal ? "-it" : "-i", STR_ARG(name));
        command = quoted(arena, before, in_login_shell(command, line->has_terminal, arena));
    }
    command = in_login_shell(command, line->has_terminal, arena);
    return line->hop.len > 0 ? quoted(arena, line->hop, command) : command;
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
