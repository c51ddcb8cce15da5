/* slot_sweep.c: finds folders whose agent is gone. */
#include "app/train/slot_sweep.h"

#include "base/str.h"
#include "io/failpoint.h"
#include "io/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char lock_name[] = "agent.lock";

/* The file gets its name when it is locked: other agents would remove the folder of one that is
 * not, and agents of a node often start at the same time. */
bool slot_sweep_hold(const struct slot_folder *folder, struct lock **ret_lock, struct err *err)
{
    char path[SLOT_PATH_MAX];
    char fresh[SLOT_PATH_MAX];
    char holder[64];
    slot_folder_path(folder, lock_name, path);
    slot_folder_path(folder, "agent.lock.new", fresh);
    snprintf(holder, sizeof(holder), "an agent, pid %ld", (long)getpid());
    if (!lock_take(fresh, holder, ret_lock, err)) {
        return false;
    }
    failpoint("rename", "agent.lock", "before");
    if (rename(fresh, path) == 0) {
        return true;
    }
    err_set(err, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    lock_drop(*ret_lock);
    *ret_lock = NULL;
    return false;
}

struct sweep {
    const char *parent;
    size_t count;
};

/* A folder without the file may be one that an agent is creating now. */
static void sweep_one(void *context, const struct file_entry *entry)
{
    struct sweep *sweep = context;
    char folder[SLOT_PATH_MAX];
    char path[SLOT_PATH_MAX + 16];
    struct err err;
    int len = snprintf(folder, sizeof(folder), "%s/%.*s", sweep->parent, STR_ARG(entry->name));
    if (!entry->is_folder || entry->is_link || len >= (int)sizeof(folder)) {
        return;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, lock_name);
    if (file_stat(path).kind != FILE_REGULAR || lock_is_held(path)) {
        return;
    }
    if (file_remove_folder(folder, &err)) {
        sweep->count++;
    } else {
        fprintf(stderr, "shoal: cannot remove the files of a killed agent: %s\n", err.text);
    }
}

size_t slot_sweep(const struct slot_folder *folder)
{
    char parent[SLOT_PATH_MAX];
    struct sweep sweep = {.parent = parent};
    snprintf(parent, sizeof(parent), "%s", folder->root);
    char *slash = strrchr(parent, '/');
    if (slash) {
        *slash = '\0';
        file_list(parent, sweep_one, &sweep);
    }
    return sweep.count;
}
