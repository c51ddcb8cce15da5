/*
 * worker_copy.c: copies file mounts from the head to a worker, as Ray does.
 *
 * One rsync at a time over the worker's connection. A missing synced file is skipped, as Ray does;
 * a missing mount is an error.
 */
#include "app/head/workers/worker_setup_internal.h"
#include "app/setup/container.h"
#include "app/setup/node_copy.h"
#include "io/file.h"

enum { COPY_MS = 60 * 60 * 1000 };

struct mount {
    struct str here, there;
    bool may_be_missing;
};

/* With containers, the files are in the folder that is mounted into them, on both machines. */
static struct str worker_copy_source(struct worker *worker, struct str path)
{
    const struct config *config = worker->all->setup.config;
    return container_copy_path(config, &config->node_types[config->head_type], path,
                               &worker->arena);
}

static struct str worker_copy_target(struct worker *worker, struct str path)
{
    return container_copy_path(worker->all->setup.config, worker->machine.type, path,
                               &worker->arena);
}

/* The next file or folder; false if none is left. */
static bool next_mount(struct worker *worker, struct mount *ret_mount)
{
    const struct config *config = worker->all->setup.config;
    size_t at = worker->copies_done;
    if (at < config->mount_count) {
        *ret_mount = (struct mount){worker_copy_source(worker, config->mounts[at].local),
                                    worker_copy_target(worker, config->mounts[at].remote), false};
        return true;
    }
    at -= config->mount_count;
    if (at < config->cluster_synced_files.count) {
        struct str path = config->cluster_synced_files.items[at];
        *ret_mount = (struct mount){worker_copy_source(worker, path),
                                    worker_copy_target(worker, path), true};
        return true;
    }
    return false;
}

static void worker_copy_fail(struct worker *worker, const struct mount *mount, struct str said,
                             int status)
{
    struct str step = arena_printf(&worker->arena, "copying %.*s to the worker",
                                   STR_ARG(str_sub(mount->there, 0, 300)));
    worker_fail(worker, &(struct node_failure){
                            .step = step,
                            .path = mount->may_be_missing ? STR("cluster_synced_files")
                                                          : STR("file_mounts"),
                            .said = said,
                            .status = status,
                        });
}

static void worker_copy_on_copied(void *context, const struct child_result *result)
{
    struct worker *worker = context;
    struct mount mount;
    worker->copy = NULL;
    if (!next_mount(worker, &mount)) {
        return;
    }
    if (!child_was_fine(result)) {
        struct str said = str_trim(result->output[CHILD_STDERR]);
        worker_copy_fail(worker, &mount, said.len > 0 ? said : str_from(result->err.text),
                         result->exit_status);
        return;
    }
    worker_log(worker, "copied %.*s in %lld ms", STR_ARG(mount.there), (long long)result->ran_ms);
    worker->copies_done++;
    worker_copy_next(worker);
}

static bool worker_copy_is_missing(struct worker *worker, const struct mount *mount)
{
    struct str here = file_expand_home(&worker->arena, mount->here);
    return file_stat(arena_str(&worker->arena, here).ptr).kind == FILE_MISSING;
}

static void worker_copy_start(struct worker *worker, const struct mount *mount)
{
    const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
    struct err err;
    if (worker_copy_is_missing(worker, mount)) {
        worker_copy_fail(worker, mount, STR("not found on the head"), 0);
        return;
    }
    if (worker->progress.phase != PHASE_COPYING) {
        hooks->tag(hooks->context, worker->machine.instance, STR("syncing-files"));
    }
    worker_phase(worker, PHASE_COPYING, mount->there);
    struct node_copy copy = {
        .children = worker->all->copies,
        .config = worker->all->setup.config,
        .place = &worker->place,
        .here = mount->here,
        .there = mount->there,
        .deadline_ms = COPY_MS,
        .done = worker_copy_on_copied,
        .context = worker,
    };
    worker->copy = node_copy_start(&copy, &worker->arena, &err);
    if (!worker->copy) {
        worker_copy_fail(worker, mount, str_from(err.text), 0);
    }
}

/* Synced files may be created by the head's setup, so they are copied after it. */
static bool must_wait(const struct worker *worker)
{
    const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
    return worker->all->setup.config->cluster_synced_files.count > 0 &&
           worker->copies_done >= worker->all->setup.config->mount_count &&
           !hooks->is_head_ready(hooks->context);
}

void worker_copy_next(struct worker *worker)
{
    struct mount mount;
    if (must_wait(worker)) {
        worker_wait(worker, STR("cluster_synced_files: the head's setup has not finished"));
        return;
    }
    worker->waits = false;
    while (next_mount(worker, &mount) && mount.may_be_missing &&
           worker_copy_is_missing(worker, &mount)) {
        worker->copies_done++;
    }
    if (next_mount(worker, &mount)) {
        worker_copy_start(worker, &mount);
    } else {
        worker_send(worker);
    }
}
