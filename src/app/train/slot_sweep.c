/* slot_sweep.c: finds folders whose agent is gone. */
#include "app/train/slot_sweep.h"

#include "base/buf.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LOST_MAX = 256, FOLDERS_OPEN_MAX = 16, DAY_MS = 24 * 3600 * 1000, SHARE = 4 };

static const char lock_name[] = "agent.lock";
static const char job_name[] = "job"; /* its id */
static const char lost_name[] =
    "lost"; /* its time is when the folder was first seen without agent */

/* The lock gets its name when it is held: other agents would take the folder of one that is not,
 * and agents of a node often start at the same time. */
bool slot_sweep_hold(const struct slot_folder *folder, const char *job, struct lock **ret_lock,
                     struct err *err)
{
    char path[SLOT_PATH_MAX];
    char fresh[SLOT_PATH_MAX];
    char holder[64];
    slot_folder_path(folder, job_name, path);
    if (!file_write(path, str_from(job), 0600, err)) {
        return false;
    }
    slot_folder_path(folder, lost_name, path);
    unlink(path);
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

/* ---- folders that wait ---- */

struct lost_folder {
    struct slot_folder folder;
    int64_t since; /* wall time, ms */
    int64_t bytes;
};

struct sweep {
    const struct slot_folder *ours;
    const struct slot_sweep_rules *rules;
    const char *parent;
    size_t removed;
    size_t lost_count;
    struct lost_folder lost[LOST_MAX];
};

static void sweep_remove(struct sweep *sweep, const struct slot_folder *folder)
{
    struct err err;
    if (file_remove_folder(folder->root, &err)) {
        sweep->removed++;
    } else {
        fprintf(stderr, "shoal: cannot remove the files of a slot that has ended: %s\n", err.text);
    }
}

/* nftw() has no context; one thread uses it. */
static _Thread_local int64_t bytes_sum;

static int bytes_add(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)path;
    (void)where;
    bytes_sum += kind == FTW_F ? (int64_t)status->st_blocks * 512 : 0;
    return 0;
}

/* When it was seen first; from now on, if this is the first time. */
static int64_t lost_since(const struct slot_folder *folder)
{
    char path[SLOT_PATH_MAX];
    struct stat status;
    struct err err;
    slot_folder_path(folder, lost_name, path);
    if (stat(path, &status) == 0) {
        return (int64_t)status.st_mtime * 1000;
    }
    if (!file_write(path, STR(""), 0600, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
    }
    return clock_wall_ms(&clock_of_machine);
}

static void lost_note(struct sweep *sweep, const struct slot_folder *folder)
{
    if (sweep->lost_count == LOST_MAX) {
        return;
    }
    bytes_sum = 0;
    nftw(folder->root, bytes_add, FOLDERS_OPEN_MAX, FTW_PHYS);
    sweep->lost[sweep->lost_count++] = (struct lost_folder){
        .folder = *folder, .since = lost_since(folder), .bytes = bytes_sum};
}

static int lost_compare(const void *a, const void *b)
{
    int64_t left = ((const struct lost_folder *)a)->since;
    int64_t right = ((const struct lost_folder *)b)->since;
    return (right > left) - (right < left);
}

/* Not while an agent takes the checkpoints. */
static void lost_remove(struct sweep *sweep, const struct lost_folder *lost, const char *why)
{
    char path[SLOT_PATH_MAX];
    struct lock *lock;
    struct err err;
    slot_folder_path(&lost->folder, lock_name, path);
    if (lock_take(path, "a sweep", &lock, &err)) {
        fprintf(stderr, "shoal: removed the checkpoints of a job that did not come back: %s (%s)\n",
                lost->folder.root, why);
        sweep_remove(sweep, &lost->folder);
        lock_drop(lock);
    }
}

/* The newest ones stay, until they are too old or too many. */
static void lost_expire(struct sweep *sweep)
{
    const struct slot_sweep_rules *rules = sweep->rules;
    int64_t now = clock_wall_ms(&clock_of_machine);
    int64_t bytes = 0;
    qsort(sweep->lost, sweep->lost_count, sizeof(sweep->lost[0]), lost_compare);
    for (size_t i = 0; i < sweep->lost_count; i++) {
        const struct lost_folder *lost = &sweep->lost[i];
        bool is_old = now - lost->since >= rules->age_ms;
        bytes += lost->bytes;
        if (is_old || (i > 0 && bytes > rules->bytes)) {
            lost_remove(sweep, lost,
                        is_old ? "a day is over" : "they use too much memory of this node");
        }
    }
}

/* ---- looking ---- */

static bool is_ours(const struct sweep *sweep, const struct slot_folder *folder)
{
    AUTO_BUF struct buf text;
    char path[SLOT_PATH_MAX];
    struct err err;
    buf_init(&text, 200);
    slot_folder_path(folder, job_name, path);
    return sweep->rules->job[0] != '\0' && file_read(path, &text, &err) &&
           str_is(buf_str(&text), sweep->rules->job);
}

static bool has_newer(const struct slot_folder *folder, const struct slot_folder *ours)
{
    struct slot_kept theirs = slot_folder_kept_now(folder);
    struct slot_kept here = slot_folder_kept_now(ours);
    return theirs.complete > here.complete || theirs.part > here.complete;
}

/* True if nothing of the folder is needed any more. */
static bool sweep_is_useless(struct sweep *sweep, const struct slot_folder *folder)
{
    struct slot_kept kept = slot_folder_kept_now(folder);
    struct err err;
    if (!is_ours(sweep, folder)) {
        return kept.complete == 0 && kept.part == 0;
    }
    if (sweep->rules->may_take && !slot_folder_take(sweep->ours, folder, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
    }
    return !has_newer(folder, sweep->ours);
}

/* A folder without the lock's file may be one that an agent is creating now. */
static void sweep_one(void *context, const struct file_entry *entry)
{
    struct sweep *sweep = context;
    struct slot_folder folder;
    char path[SLOT_PATH_MAX];
    struct lock *lock;
    struct err err;
    int len = snprintf(folder.root, sizeof(folder.root), "%s/%.*s", sweep->parent,
                       STR_ARG(entry->name));
    if (!entry->is_folder || entry->is_link || len >= (int)sizeof(folder.root)) {
        return;
    }
    slot_folder_path(&folder, lock_name, path);
    if (file_stat(path).kind != FILE_REGULAR || !lock_take(path, "a sweep", &lock, &err)) {
        return; /* it is used, or another agent looks at it */
    }
    if (sweep_is_useless(sweep, &folder)) {
        sweep_remove(sweep, &folder);
    } else {
        lost_note(sweep, &folder);
    }
    lock_drop(lock);
}

size_t slot_sweep(const struct slot_folder *folder, const struct slot_sweep_rules *rules)
{
    char parent[SLOT_PATH_MAX];
    struct sweep *sweep = HEAP_NEW(struct sweep);
    sweep->ours = folder;
    sweep->rules = rules;
    sweep->parent = parent;
    snprintf(parent, sizeof(parent), "%s", folder->root);
    char *slash = strrchr(parent, '/');
    if (slash) {
        *slash = '\0';
        file_list(parent, sweep_one, sweep);
        lost_expire(sweep);
    }
    size_t removed = sweep->removed;
    free(sweep);
    return removed;
}

struct slot_sweep_rules slot_sweep_usual(const struct slot_folder *folder, const char *job)
{
    struct statvfs disk;
    int64_t size = statvfs(folder->root, &disk) == 0
                       ? (int64_t)disk.f_blocks * (int64_t)disk.f_frsize
                       : 0;
    return (struct slot_sweep_rules){
        .job = job, .may_take = true, .age_ms = DAY_MS, .bytes = size / SHARE};
}

void slot_sweep_leave(const struct slot_folder *folder)
{
    if (slot_folder_reduce(folder)) {
        lost_since(folder);
    } else {
        slot_folder_remove(folder);
    }
}
