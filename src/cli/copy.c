/* copy.c: runs rsync in the foreground. */
#include "cli/copy.h"

#include "app/setup/container.h"
#include "app/setup/node_tools.h"
#include "cli/cloud.h"
#include "cli/output.h"
#include "cli/worker_place.h"
#include "io/file.h"
#include "io/foreground.h"
#include "remote/rsync.h"

#include <stdlib.h>
#include <unistd.h>

enum { VERSION_MS = 5000, SAID_BYTES_MAX = 8192 };

/* Once per version: distributions fix an old one without changing its version number. If the marker
 * cannot be written, the warning is shown again next time. */
static bool is_first_time(struct str version, struct arena *arena)
{
    struct err err;
    const char *cache = getenv("XDG_CACHE_HOME");
    struct str base = cache && cache[0] == '/' ? str_from(cache)
                                               : file_expand_home(arena, STR("~/.cache"));
    const char *folder = arena_printf(arena, "%.*s/shoal", STR_ARG(base)).ptr;
    const char *mark = arena_printf(arena, "%s/rsync-%.*s-warned", folder, STR_ARG(version)).ptr;
    bool is_first = file_stat(mark).kind == FILE_MISSING;
    (void)!(is_first && file_make_private_folder(folder, &err) &&
            file_write(mark, STR(""), 0600, &err));
    return is_first;
}

/* The output of `rsync --version`; false if it cannot be run. */
static bool copy_rsync_version(struct buf *out)
{
    static const char *const argv[] = {"rsync", "--version", NULL};
    struct err ignored; /* the copy itself reports it */
    return tools_run_clean(argv, VERSION_MS, out, &ignored);
}

/* Only when files come from a node: the flaw is exploited by the sender. */
static void warn_of_old_rsync(struct target *target)
{
    struct arena *arena = target->cli.arena;
    AUTO_BUF struct buf said;
    struct str version;
    buf_init(&said, SAID_BYTES_MAX);
    if (copy_rsync_version(&said) && rsync_is_old(buf_str(&said), &version) &&
        is_first_time(version, arena)) {
        struct str text = arena_printf(
            arena,
            "rsync %.*s on this machine may have CVE-2024-12086 to -12088: a compromised node "
            "could read and replace other files on this machine. Update rsync to 3.4.0, or to "
            "the fixed package of your distribution. This warning is shown once.",
            STR_ARG(version));
        cloud_print_lines(&target->cli, "warning", text);
    }
}

/* Only on a terminal, and not with the list of files of -v. */
static bool wants_progress(const struct target *target)
{
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    return target->given->verbose == 0 && isatty(fileno(target->cli.err)) == 1 &&
           copy_rsync_version(&said) && rsync_has_progress(buf_str(&said));
}

/* `~/src/` that was not quoted: the shell here has put the home of this machine into it. */
static struct str path_there(struct target *target, struct str path)
{
    struct arena *arena = target->cli.arena;
    struct str home = file_expand_home(arena, STR("~"));
    bool is_below = home.len > 1 && str_starts(path, home.ptr) &&
                    (path.len == home.len || path.ptr[home.len] == '/');
    if (!is_below) {
        return path;
    }
    struct str there = arena_printf(arena, "~%.*s", STR_ARG(str_sub(path, home.len, path.len)));
    cloud_print_lines(&target->cli, "note",
                      arena_printf(arena,
                                   "using %.*s on the head: your shell replaced ~ with the home "
                                   "directory of this machine; quote the path: '%.*s'",
                                   STR_ARG(there), STR_ARG(there)));
    return there;
}

static int copy_start(struct target *target, const struct ssh_target *place, struct str here,
                      struct str there, bool is_down, const struct config_docker *docker)
{
    struct err err;
    const char *const *argv;
    struct foreground_end end;
    const struct config *config = target->config;
    struct ssh_target way = target_way(place, false);
    struct rsync_copy copy = {
        .place = &way,
        .here = here,
        .there = there,
        .is_down = is_down,
        .excludes = config->rsync_exclude.items,
        .exclude_count = config->rsync_exclude.count,
        .filters = config->rsync_filter.items,
        .filter_count = config->rsync_filter.count,
        .makes_parents = !is_down,
        .has_progress = wants_progress(target),
    };
    if (docker) {
        copy.container_program = container_program(docker);
        copy.container = docker->container_name;
    }
    if (!rsync_argv(&copy, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    target_show_argv(target, argv);
    fflush(target->cli.err);
    /* Its list of files is progress output; Ray also shows it only with -v. */
    bool is_shown = target->given->verbose > 0 || copy.has_progress;
    enum foreground_output output = is_shown ? FOREGROUND_TO_ERROR : FOREGROUND_NOWHERE;
    if (!foreground_run(argv, output, STR(""), &end, &err)) {
        return target_fail(target, &err);
    }
    return end.status;
}

int copy_run(struct target *target, const struct ssh_target *place, struct str here,
             struct str there, bool is_down)
{
    return copy_start(target, place, here, there, is_down, NULL);
}

int copy_run_inside(struct target *target, const struct ssh_target *place, struct str here,
                    struct str there, bool is_down)
{
    const struct config *config = target->config;
    const struct config_node_type *head = &config->node_types[config->head_type];
    return copy_start(target, place, here, there, is_down,
                      container_is_used(head) ? &head->docker : NULL);
}

/* Copies the contents of a folder into the target folder, like `up`. */
static struct str with_slash(struct arena *arena, struct str path, bool is_folder)
{
    return is_folder && !str_ends(path, "/") ? arena_printf(arena, "%.*s/", STR_ARG(path)) : path;
}

/* Copies all file_mounts of the file in order; stops at the first failure. */
static int copy_mounts(struct target *target, const struct ssh_target *place, bool is_down)
{
    struct arena *arena = target->cli.arena;
    const struct config *config = target->config;
    int status = 0;
    for (size_t i = 0; status == 0 && i < config->mount_count; i++) {
        struct str here = file_expand_home(arena, config->mounts[i].local);
        bool is_folder = file_stat(arena_str(arena, here).ptr).kind == FILE_FOLDER;
        struct str there = container_copy_path(config, &config->node_types[config->head_type],
                                               config->mounts[i].remote, arena);
        status = copy_run(target, place, with_slash(arena, here, is_folder),
                          with_slash(arena, there, is_folder), is_down);
    }
    return status;
}

/* What was given, or all file_mounts if nothing was. */
static int copy_one(struct target *target, const struct ssh_target *place, struct str here,
                    struct str there, bool is_down)
{
    return there.len > 0 ? copy_run_inside(target, place, here, there, is_down)
                         : copy_mounts(target, place, is_down);
}

struct copy_job {
    const struct copy_fields *given;
    bool is_down;
};

static int copy_files(struct target *target, const void *context)
{
    const struct copy_job *job = context;
    const char *from = job->given->from;
    const char *to = job->given->to;
    bool is_down = job->is_down;
    struct launcher_head head;
    struct ssh_target place;
    const struct worker_place *workers = NULL;
    size_t worker_count = 0;
    struct err err;
    if (!target_reach(target, &head, &place, &err) ||
        (job->given->all_nodes && !worker_places(target, &place, &workers, &worker_count, &err))) {
        return target_fail(target, &err);
    }
    target_warn_of_set_up(target, &head);
    target_close(target); /* rsync gets the terminal and Ctrl-C */
    if (is_down) {
        warn_of_old_rsync(target);
    }
    if (!from && target->config->mount_count == 0) {
        cloud_print_lines(&target->cli, "note",
                          STR("the file has no file_mounts: there is nothing to copy"));
    }
    struct str here = str_from(is_down ? to : from);
    struct str there = from ? path_there(target, str_from(is_down ? from : to)) : STR("");
    int status = copy_one(target, &place, here, there, is_down);
    for (size_t i = 0; i < worker_count; i++) { /* a worker that fails does not stop the others */
        bool has_key = workers[i].has_key;
        int one = has_key ? copy_one(target, &workers[i].place, here, there, is_down) : 1;
        if (one != 0) {
            cloud_print_lines(&target->cli, "error",
                              arena_printf(target->cli.arena, "not copied to %.*s%s",
                                           STR_ARG(workers[i].name),
                                           has_key ? ""
                                                   : ": the head does not know its host key yet; "
                                                     "try again when it is set up"));
        }
        status = status ? status : one;
    }
    return status;
}

int copy_work(const struct cli *cli, const struct copy_fields *given, bool is_down)
{
    struct copy_job job = {given, is_down};
    struct err err;
    if (!given->from != !given->to) {
        err_set(&err, ERR_USAGE, "give both SOURCE and TARGET, or neither to copy all file_mounts");
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, copy_files, &job);
}
