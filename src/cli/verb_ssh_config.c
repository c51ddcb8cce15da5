/* verb_ssh_config.c: writes an ssh configuration for a cluster, for ssh, scp and editors. */
#include "app/cluster_state.h"
#include "cli/output.h"
#include "cli/target.h"
#include "io/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CONFIG_BYTES_MAX = 64 * 1024, USER_CONFIG_BYTES_MAX = 1 << 20 };

struct ssh_config_fields {
    struct target_fields target;
    bool include;
    bool print;
};

static const struct operand operands[] = {TARGET_OPERAND(struct ssh_config_fields)};

static const struct option options[] = {
    {"include", 0, OPTION_FLAG, offsetof(struct ssh_config_fields, include), NULL, NULL,
     "Add the line that includes the written file to ~/.ssh/config, once, at its top."},
    {"print", 0, OPTION_FLAG, offsetof(struct ssh_config_fields, print), NULL, NULL,
     "Print the configuration and write nothing."},
    TARGET_NAME_OPTION(struct ssh_config_fields),
    TARGET_PROFILE_OPTION(struct ssh_config_fields),
    TARGET_VERBOSE_OPTION(struct ssh_config_fields),
};

static const struct example examples[] = {
    {"shoal ssh-config --include cluster.yaml", "Then: ssh NAME, scp NAME:file ., and editors."},
    {"shoal ssh-config --print cluster.yaml", "Show the configuration."},
};

/* "-o Name=value" of our own ssh as a line "  Name value". The shared connection is left out: its
 * socket belongs to Shoal's own sessions. */
static void ssh_config_add_option(struct buf *out, const char *word)
{
    const char *equals = strchr(word, '=');
    if (equals && strncmp(word, "Control", 7) != 0 && strncmp(word, "BatchMode", 9) != 0) {
        buf_addf(out, "  %.*s %s\n", (int)(equals - word), word, equals + 1);
    }
}

static bool ssh_config_make(const struct target *target, const struct ssh_target *place,
                            struct buf *out, struct err *err)
{
    const char *const *argv;
    struct ssh_session session = {0};
    struct str name = target->config->cluster_name;
    if (!ssh_argv(place, &session, target->cli.arena, &argv, err)) {
        return false;
    }
    buf_addf(out, "# The head of cluster %.*s. shoal ssh-config wrote this file and replaces it.\n",
             STR_ARG(name));
    buf_addf(out, "Host %.*s\n  HostName %.*s\n  User %.*s\n", STR_ARG(name),
             STR_ARG(place->address), STR_ARG(place->user));
    for (size_t i = 0; argv[i]; i++) {
        if (strcmp(argv[i], "-o") == 0 && argv[i + 1]) {
            ssh_config_add_option(out, argv[++i]);
        }
    }
    return true;
}

/* ---- the name ---- */

/* In an ssh configuration other characters are patterns, further names or further lines, and a
 * name with a dot may be that of another host. */
static bool ssh_config_check_name(struct str name, struct err *err)
{
    bool ok = name.len > 0 && name.ptr[0] != '-';
    for (size_t i = 0; ok && i < name.len; i++) {
        char c = name.ptr[i];
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_';
    }
    return ok || err_set(err, ERR_CONFIG,
                         "ssh cannot use this cluster_name as the name of one host; nothing was "
                         "written. Use a name of letters, digits, - and _, or connect with shoal "
                         "attach");
}

/* The words of a line "Host a b", or an empty view. */
static struct str ssh_config_hosts(struct str line)
{
    line = str_trim(line);
    if (line.len < 5 || strncasecmp(line.ptr, "host", 4) != 0 || !strchr(" \t=\"", line.ptr[4])) {
        return STR("");
    }
    return str_sub(line, 4, line.len);
}

/* True if a line "Host" of the configuration has this very word. Patterns do not count. */
static bool ssh_config_has_host(struct str text, struct str name)
{
    while (text.len > 0) {
        struct str words = ssh_config_hosts(str_cut(&text, '\n'));
        for (size_t i = 0; i < words.len;) {
            size_t end = i;
            while (end < words.len && !strchr(" \t=\",", words.ptr[end])) {
                end++;
            }
            if (str_eq(str_sub(words, i, end), name)) {
                return true;
            }
            i = end + 1;
        }
    }
    return false;
}

/* ---- ~/.ssh/config ---- */

static const char *ssh_config_path(struct target *target)
{
    return file_expand_home(target->cli.arena, STR("~/.ssh/config")).ptr;
}

/* The user's configuration. The name must not be one of its hosts, which it would replace. */
static bool ssh_config_read_users(struct target *target, struct buf *old, struct err *err)
{
    const char *path = ssh_config_path(target);
    struct str name = target->config->cluster_name;
    if (file_stat(path).kind != FILE_MISSING && !file_read(path, old, err)) {
        return false;
    }
    return !ssh_config_has_host(buf_str(old), name) ||
           err_set(err, ERR_CONFIG,
                   "%s already has a Host %.*s, which the cluster would replace; nothing was "
                   "written. Rename that host, or connect with shoal attach",
                   path, STR_ARG(name));
}

static bool ssh_config_include(struct target *target, struct str line, const struct buf *old,
                               struct err *err)
{
    const char *path = ssh_config_path(target);
    const char *folder = file_expand_home(target->cli.arena, STR("~/.ssh")).ptr;
    AUTO_BUF struct buf text;
    buf_init(&text, USER_CONFIG_BYTES_MAX + CONFIG_BYTES_MAX);
    struct file_status there = file_stat(path);
    if (str_find(buf_str(old), line.ptr) != SIZE_MAX) {
        return true;
    }
    if (file_stat(folder).kind == FILE_MISSING && !file_make_private_folder(folder, err)) {
        return false;
    }
    buf_addf(&text, "%.*s\n%s", STR_ARG(line), old->len > 0 ? "\n" : "");
    buf_add(&text, buf_str(old));
    /* A link is followed: a configuration that is kept elsewhere stays there. */
    char real[PATH_MAX];
    const char *target_path = there.kind != FILE_MISSING && realpath(path, real) ? real : path;
    return file_write(target_path, buf_str(&text), there.kind == FILE_MISSING ? 0600 : there.mode,
                      err);
}

/* ---- the verb ---- */

static int ssh_config_write(struct target *target, const struct ssh_config_fields *given,
                            const struct buf *text)
{
    struct arena *arena = target->cli.arena;
    struct cluster_state state;
    AUTO_BUF struct buf old;
    struct err err;
    buf_init(&old, USER_CONFIG_BYTES_MAX);
    if (!ssh_config_read_users(target, &old, &err) ||
        !cluster_state_open(target->config, false, arena, &state, &err) ||
        !cluster_state_make(&state, &err)) {
        return target_fail(target, &err);
    }
    const char *path = arena_printf(arena, "%s/ssh_config", state.folder).ptr;
    struct str all = arena_printf(arena, "%.*s/*/ssh_config",
                                  (int)(strrchr(state.folder, '/') - state.folder), state.folder);
    bool is_quoted = str_find_char(all, ' ') != SIZE_MAX;
    struct str line = arena_printf(arena, "Include %s%.*s%s", is_quoted ? "\"" : "", STR_ARG(all),
                                   is_quoted ? "\"" : "");
    if (!file_write(path, buf_str(text), 0600, &err) ||
        (given->include && !ssh_config_include(target, line, &old, &err))) {
        return target_fail(target, &err);
    }
    struct str name = target->config->cluster_name;
    if (given->include) {
        fprintf(target->cli.err, "Wrote %s. Now this works: ssh %.*s\n", path, STR_ARG(name));
    } else {
        fprintf(target->cli.err,
                "Wrote %s. Add this line to the top of ~/.ssh/config (--include does it), then run "
                "ssh %.*s:\n",
                path, STR_ARG(name));
        fprintf(target->cli.out, "%.*s\n", STR_ARG(line));
        return fflush(target->cli.out) != 0;
    }
    return 0;
}

static int ssh_config_work(struct target *target, const void *fields)
{
    const struct ssh_config_fields *given = fields;
    AUTO_BUF struct buf text;
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    buf_init(&text, CONFIG_BYTES_MAX);
    if (!ssh_config_check_name(target->config->cluster_name, &err) ||
        !target_find(target, &head, &place, &err) ||
        !ssh_config_make(target, &place, &text, &err)) {
        return target_fail(target, &err);
    }
    return given->print ? output_write(&target->cli, target->cli.out, &text)
                        : ssh_config_write(target, given, &text);
}

static int verb_ssh_config_run(const struct cli *cli, const void *fields)
{
    const struct ssh_config_fields *given = fields;
    return target_work(cli, &given->target, ssh_config_work, given);
}

const struct verb verb_ssh_config = {
    .name = "ssh-config",
    .alias = "ssh_config",
    .summary = "connect to the head by name, from ssh and editors",
    .description =
        "Writes an ssh configuration for the head into the cluster's directory of Shoal: address, "
        "user, key, the pinned host key and the proxy command of the file. Once ~/.ssh/config "
        "includes these files, ssh NAME connects to the head of cluster NAME, and so do scp, "
        "rsync, VS Code (Remote-SSH: Connect to Host) and JetBrains Gateway (SSH, with "
        "the OpenSSH config). NAME must have only letters, digits, - and _, and ~/.ssh/config must "
        "not have a Host of that name. shoal down removes the file. Run it again when the head "
        "has another address, for example after shoal stop and shoal start.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct ssh_config_fields),
    .run = verb_ssh_config_run,
};
