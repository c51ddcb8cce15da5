/* node_env.c: sets Ray's location and authentication for every shell on a node. */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "app/setup/setup_plan.h"
#include "base/buf.h"
#include "io/file.h"
#include "ray/token.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENV_FILE "~/.shoal/env.sh"
#define ENV_LINE "if [ -r ~/.shoal/env.sh ]; then . ~/.shoal/env.sh; fi # by Shoal\n"

enum { RC_BYTES = 1 << 20 };

/* ---- the token ---- */

/* The service may have created the token already; the first one wins. */
static bool make_token(struct arena *arena, struct err *err)
{
    const char *path = tools_home(arena, SETUP_TOKEN_FILE);
    if (!ray_token_make(path, err)) {
        return false;
    }
    return chmod(path, 0600) == 0 || err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

/* ---- shells ---- */

/* Inserts the line at the top: on Ubuntu ~/.bashrc returns early in non-interactive shells. A
 * symbolic link is resolved, and its target is changed. */
static bool node_env_add_line(struct arena *arena, const char *name, struct err *err)
{
    const char *path = tools_home(arena, name);
    char real[PATH_MAX];
    if (realpath(path, real)) {
        path = real;
    }
    struct file_status status = file_stat(path);
    AUTO_BUF struct buf text;
    buf_init(&text, RC_BYTES);
    buf_add_c(&text, ENV_LINE);
    if (status.kind == FILE_REGULAR) {
        AUTO_BUF struct buf old;
        buf_init(&old, RC_BYTES);
        if (!file_read(path, &old, err)) {
            return false;
        }
        if (str_find(buf_str(&old), "~/.shoal/env.sh") != SIZE_MAX) {
            return true;
        }
        buf_add(&text, buf_str(&old));
    }
    if (text.is_full) {
        return err_set(err, ERR_IO, "%s is too long", path);
    }
    return file_write(path, buf_str(&text), status.kind == FILE_REGULAR ? status.mode : 0644, err);
}

static bool is_file(struct arena *arena, const char *name)
{
    return file_stat(tools_home(arena, name)).kind == FILE_REGULAR;
}

/* A login bash reads only the first of these files that exists. */
static const char *login_file(struct arena *arena)
{
    return is_file(arena, "~/.bash_profile") ? "~/.bash_profile"
           : is_file(arena, "~/.bash_login") ? "~/.bash_login"
                                             : "~/.profile";
}

static bool node_env_add_lines(struct arena *arena, struct err *err)
{
    bool has_zsh = str_ends(str_from(getenv("SHELL")), "/zsh") || is_file(arena, "~/.zshenv");
    return node_env_add_line(arena, "~/.bashrc", err) &&
           node_env_add_line(arena, login_file(arena), err) &&
           (!has_zsh || node_env_add_line(arena, "~/.zshenv", err));
}

static bool write_env(struct arena *arena, bool has_token, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 4096);
    struct str path;
    const char *bin = tools_home(arena, RAY_FIND_VENV "/bin");
    buf_add_c(&text, "# Written by Shoal, for every shell on this machine.\n");
    if (!tools_find(arena, "ray", bin, &path) &&
        (is_file(arena, RAY_FIND_VENV "/ready") || is_file(arena, RAY_FIND_VENV "/has-pip"))) {
        buf_add_c(&text, "case \":$PATH:\" in\n"
                         "*\":$HOME/.shoal/ray/bin:\"*) ;;\n"
                         "*) export PATH=\"$HOME/.shoal/ray/bin:$PATH\" ;;\n"
                         "esac\n");
    }
    if (has_token) {
        buf_add_c(&text, "export RAY_AUTH_MODE=token\n");
    }
    return file_write(tools_home(arena, ENV_FILE), buf_str(&text), 0644, err);
}

int node_env(enum node_env_token token)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    mkdir(tools_home(&arena, "~/.shoal"), 0700);
    bool has_token = token != NODE_ENV_NO_TOKEN && !ray_find_is_old(ray_find_noted(&arena));
    bool is_fine = (token != NODE_ENV_MAKE_TOKEN || make_token(&arena, &err)) &&
                   write_env(&arena, has_token, &err) && node_env_add_lines(&arena, &err);
    if (!is_fine) {
        fprintf(stderr, "error: %s\n", err.text);
    }
    return is_fine ? 0 : 1;
}
