/* node_copy.c: one rsync. */
#include "app/setup/node_copy.h"

#include "io/file.h"
#include "remote/rsync.h"

enum { OUTPUT_BYTES_MAX = 4096 };

static struct str node_copy_as_folder(struct str path, struct arena *arena)
{
    return str_ends(path, "/") ? path : arena_printf(arena, "%.*s/", STR_ARG(path));
}

const char *const *node_copy_list_argv(const struct config *config, struct str path,
                                       struct arena *arena)
{
    struct str here = arena_str(arena, file_expand_home(arena, path));
    const struct rsync_copy rsync = {
        .here = file_stat(here.ptr).kind == FILE_FOLDER ? node_copy_as_folder(here, arena) : here,
        .excludes = config->rsync_exclude.items,
        .exclude_count = config->rsync_exclude.count,
        .filters = config->rsync_filter.items,
        .filter_count = config->rsync_filter.count,
    };
    return rsync_list_argv(&rsync, arena);
}

/* The contents of a folder are copied, whatever its name is on the node. */
static bool node_copy_argv(const struct node_copy *copy, struct arena *arena,
                           const char *const **ret_argv, struct err *err)
{
    const struct config *config = copy->config;
    struct str here = arena_str(arena, file_expand_home(arena, copy->here));
    bool is_folder = file_stat(here.ptr).kind == FILE_FOLDER;
    const struct rsync_copy rsync = {
        .place = copy->place,
        .here = is_folder ? node_copy_as_folder(here, arena) : here,
        .there = is_folder ? node_copy_as_folder(copy->there, arena) : copy->there,
        .excludes = config->rsync_exclude.items,
        .exclude_count = config->rsync_exclude.count,
        .filters = config->rsync_filter.items,
        .filter_count = config->rsync_filter.count,
        .makes_parents = true,
    };
    return rsync_argv(&rsync, arena, ret_argv, err);
}

struct child *node_copy_start(const struct node_copy *copy, struct arena *arena, struct err *err)
{
    const char *const *argv;
    if (!node_copy_argv(copy, arena, &argv, err)) {
        return NULL;
    }
    return child_start(copy->children,
                       &(struct child_spec){
                           .argv = argv,
                           .env_names = child_usual_env,
                           .output = {{0}, {.bytes_max = OUTPUT_BYTES_MAX, .keeps_tail = true}},
                           .deadline_ms = copy->deadline_ms,
                           .done = copy->done,
                           .context = copy->context,
                       });
}
