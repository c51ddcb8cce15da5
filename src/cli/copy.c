/* copy.c: words of rsync, run in the foreground. */
#include "cli/copy.h"

#include "cli/cloud.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/foreground.h"
#include "remote/rsync.h"

bool copy_check(const char *source, const char *target, struct err *err)
{
    if (!source != !target) {
        return err_set(err, ERR_USAGE,
                       "give both SOURCE and TARGET, or none of them for all file_mounts");
    }
    return true;
}

int copy_run(struct target *target, const struct ssh_place *place, struct str here,
             struct str there, bool is_down)
{
    struct err err;
    const char *const *argv;
    struct foreground_end end;
    const struct config *config = target->config;
    struct ssh_place way = target_way(place, false);
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
    };
    if (!rsync_words(&copy, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    target_show_words(target, argv);
    fflush(target->cli.err);
    /* Its list of files is part of the story, not of the data; Ray shows it with -v, too. */
    enum foreground_output output = target->given->verbose > 0 ? FOREGROUND_TO_ERROR
                                                               : FOREGROUND_NOWHERE;
    if (!foreground_run(argv, output, &end, &err)) {
        return target_fail(target, &err);
    }
    return end.status;
}

/* A folder's contents go into the folder, as `up` copies them. */
static struct str with_slash(struct arena *arena, struct str path, bool is_folder)
{
    return is_folder && !str_ends(path, "/") ? arena_printf(arena, "%.*s/", STR_ARG(path)) : path;
}

int copy_mounts(struct target *target, const struct ssh_place *place, bool is_down)
{
    struct arena *arena = target->cli.arena;
    const struct config *config = target->config;
    int status = 0;
    if (config->mount_count == 0) {
        cloud_print_lines(&target->cli, "note",
                          STR("the file has no file_mounts: there is nothing to copy"));
    }
    for (size_t i = 0; status == 0 && i < config->mount_count; i++) {
        struct str here = file_expand_home(arena, config->mounts[i].local);
        bool is_folder = file_look(arena_str(arena, here).ptr).kind == FILE_FOLDER;
        status = copy_run(target, place, with_slash(arena, here, is_folder),
                          with_slash(arena, config->mounts[i].remote, is_folder), is_down);
    }
    return status;
}

int copy_files(struct target *target, const char *from, const char *to, bool is_down)
{
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    if (!target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    target_warn_of_set_up(target, &head);
    target_close(target); /* rsync has the terminal and Ctrl-C */
    struct str here = str_from(is_down ? to : from);
    struct str there = str_from(is_down ? from : to);
    return from ? copy_run(target, &place, here, there, is_down)
                : copy_mounts(target, &place, is_down);
}
