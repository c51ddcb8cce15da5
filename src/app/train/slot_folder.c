/* slot_folder.c: creates, marks, copies and keeps the files of a slot. */
#include "app/train/slot_folder.h"

#include "app/train/state_tree.h"
#include "base/str.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_OPEN_MAX = 16 };

void slot_folder_path(const struct slot_folder *folder, const char *part,
                      char ret_path[SLOT_PATH_MAX])
{
    snprintf(ret_path, SLOT_PATH_MAX, "%s/%s", folder->root, part);
}

void slot_folder_kept(const struct slot_folder *folder, int64_t number, bool is_part,
                      char ret_path[SLOT_PATH_MAX])
{
    snprintf(ret_path, SLOT_PATH_MAX, "%s/kept/%" PRId64 "%s", folder->root, number,
             is_part ? ".part" : "");
}

static bool slot_folder_try(struct slot_folder *folder, const char *base, const char *name,
                            struct err *err)
{
    snprintf(folder->root, sizeof(folder->root), "%s/shoal-train-%u/%s", base, (unsigned)getuid(),
             name);
    return file_make_private_folder(folder->root, err);
}

bool slot_folder_open(struct slot_folder *folder, const char *name, struct err *err)
{
    static const char *const fresh[] = {"state", "code", "python"};
    char path[SLOT_PATH_MAX];
    if (!slot_folder_try(folder, "/dev/shm", name, err) &&
        !slot_folder_try(folder, "/tmp", name, err)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(fresh); i++) {
        slot_folder_path(folder, fresh[i], path);
        if (!file_remove_folder(path, err) || !file_make_private_folder(path, err)) {
            return false;
        }
    }
    slot_folder_path(folder, "kept", path);
    return file_make_private_folder(path, err);
}

void slot_folder_remove(const struct slot_folder *folder)
{
    struct err err;
    if (!file_remove_folder(folder->root, &err)) {
        fprintf(stderr, "shoal: cannot remove the slot's files: %s\n", err.text);
    }
}

/* ---- checkpoints ---- */

struct kept_scan {
    int64_t numbers[64];
    size_t count;
    int64_t complete; /* the newest that is not a part */
    int64_t part;     /* the newest that is one */
};

static void kept_note(void *context, const struct file_entry *entry)
{
    struct kept_scan *scan = context;
    struct str name = entry->name;
    int64_t number;
    bool is_part = str_ends(name, ".part");
    if (is_part) {
        name.len -= strlen(".part");
    }
    if (entry->is_folder && str_to_i64(name, &number) && number > 0 &&
        scan->count < ARRAY_LEN(scan->numbers)) {
        int64_t *newest = is_part ? &scan->part : &scan->complete;
        scan->numbers[scan->count++] = number;
        *newest = number > *newest ? number : *newest;
    }
}

static void kept_list(const struct slot_folder *folder, struct kept_scan *scan)
{
    char path[SLOT_PATH_MAX];
    slot_folder_path(folder, "kept", path);
    *scan = (struct kept_scan){.count = 0};
    file_list(path, kept_note, scan);
}

/* Of the part; 0: not known. */
static int64_t parts_read(const struct slot_folder *folder, int64_t part)
{
    AUTO_BUF struct buf text;
    char path[SLOT_PATH_MAX];
    struct err err;
    int64_t number;
    int64_t parts;
    buf_init(&text, 100);
    slot_folder_path(folder, "part_count", path);
    if (!file_read(path, &text, &err)) {
        return 0;
    }
    struct str rest = str_trim(buf_str(&text));
    bool is_read = str_to_i64(str_cut(&rest, ' '), &number) && str_to_i64(rest, &parts);
    return is_read && number == part && parts > 0 ? parts : 0;
}

static bool parts_write(const struct slot_folder *folder, int64_t part, int64_t parts,
                        struct err *err)
{
    AUTO_BUF struct buf text;
    char path[SLOT_PATH_MAX];
    buf_init(&text, 100);
    buf_addf(&text, "%" PRId64 " %" PRId64 "\n", part, parts);
    slot_folder_path(folder, "part_count", path);
    return file_write(path, buf_str(&text), 0600, err);
}

struct slot_kept slot_folder_kept_now(const struct slot_folder *folder)
{
    struct kept_scan scan;
    kept_list(folder, &scan);
    int64_t parts = scan.part > scan.complete ? parts_read(folder, scan.part) : 0;
    return (struct slot_kept){
        .complete = scan.complete, .part = parts > 0 ? scan.part : 0, .parts = parts};
}

static void kept_remove(const struct slot_folder *folder, int64_t number)
{
    char path[SLOT_PATH_MAX];
    struct err err;
    for (int part = 0; part < 2; part++) {
        slot_folder_kept(folder, number, part == 1, path);
        if (!file_remove_folder(path, &err)) {
            fprintf(stderr, "shoal: cannot remove an old checkpoint: %s\n", err.text);
        }
    }
}

/* Removes all checkpoints that have at least `spared` newer ones. */
static void kept_expire(const struct slot_folder *folder, size_t spared)
{
    struct kept_scan scan;
    kept_list(folder, &scan);
    for (size_t i = 0; i < scan.count; i++) {
        size_t newer = 0;
        for (size_t j = 0; j < scan.count; j++) {
            newer += scan.numbers[j] > scan.numbers[i];
        }
        if (newer >= spared && (spared == 0 || scan.numbers[i] != scan.complete)) {
            kept_remove(folder, scan.numbers[i]);
        }
    }
}

void slot_folder_expire(const struct slot_folder *folder)
{
    kept_expire(folder, SLOT_KEPT_MAX);
}

void slot_folder_forget(const struct slot_folder *folder)
{
    kept_expire(folder, 0);
}

bool slot_folder_keep(const struct slot_folder *folder, int64_t number, int64_t parts,
                      struct err *err)
{
    char state[SLOT_PATH_MAX];
    char kept[SLOT_PATH_MAX];
    slot_folder_path(folder, "state", state);
    slot_folder_kept(folder, number, parts > 0, kept);
    if (parts > 0 && !parts_write(folder, number, parts, err)) {
        return false;
    }
    failpoint("rename", "kept", "before");
    if (rename(state, kept) != 0) {
        return err_set(err, ERR_IO, "cannot keep the checkpoint %s: %s", kept, strerror(errno));
    }
    slot_folder_expire(folder);
    return file_make_private_folder(state, err);
}

static bool take_one(const struct slot_folder *folder, const struct slot_folder *from,
                     int64_t number, bool is_part, struct err *err)
{
    char there[SLOT_PATH_MAX];
    char here[SLOT_PATH_MAX];
    slot_folder_kept(from, number, is_part, there);
    slot_folder_kept(folder, number, is_part, here);
    failpoint("rename", "taken", "before");
    return rename(there, here) == 0 ||
           err_set(err, ERR_IO, "cannot take %s: %s", there, strerror(errno));
}

/* A slot has one part of a checkpoint: another one stays where it is, for another slot. */
bool slot_folder_take(const struct slot_folder *folder, const struct slot_folder *from,
                      struct err *err)
{
    struct slot_kept ours = slot_folder_kept_now(folder);
    struct slot_kept theirs = slot_folder_kept_now(from);
    if (theirs.complete > ours.complete && !take_one(folder, from, theirs.complete, false, err)) {
        return false;
    }
    int64_t newest = theirs.complete > ours.complete ? theirs.complete : ours.complete;
    newest = ours.part > newest ? ours.part : newest;
    return theirs.part <= newest || (parts_write(folder, theirs.part, theirs.parts, err) &&
                                     take_one(folder, from, theirs.part, true, err));
}

bool slot_folder_reduce(const struct slot_folder *folder)
{
    static const char *const useless[] = {"state",  "code",  "python", "snapshot",
                                          "merged", "parts", "stored", "steps"};
    struct slot_kept kept = slot_folder_kept_now(folder);
    char path[SLOT_PATH_MAX];
    for (size_t i = 0; i < ARRAY_LEN(useless); i++) {
        struct err ignored;
        slot_folder_path(folder, useless[i], path);
        if (!file_remove_folder(path, &ignored)) {
            fprintf(stderr, "shoal: %s\n", ignored.text);
        }
    }
    kept_expire(folder, 1);
    return kept.complete > 0 || kept.part > 0;
}

/* ---- marks ---- */

/* nftw() has no context; one thread uses it. */
static _Thread_local uint64_t mark_sum;
static _Thread_local size_t mark_root_len;

static int mark_add(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)where;
    if (kind == FTW_F || kind == FTW_SL) {
        uint64_t hash = str_hash(str_from(path + mark_root_len));
        hash = hash * 31 + (uint64_t)status->st_size;
        hash = hash * 31 + (uint64_t)status->st_mtim.tv_sec;
        hash = hash * 31 + (uint64_t)status->st_mtim.tv_nsec;
        hash = hash * 31 + (uint64_t)status->st_ino;
        mark_sum += hash * 0x9E3779B97F4A7C15u; /* the order of entries does not matter */
    }
    return 0;
}

uint64_t slot_folder_mark(const struct slot_folder *folder)
{
    char state[SLOT_PATH_MAX];
    slot_folder_path(folder, "state", state);
    mark_sum = 0;
    mark_root_len = strlen(state);
    nftw(state, mark_add, FOLDERS_OPEN_MAX, FTW_PHYS);
    return mark_sum;
}

/* ---- copies ---- */

static bool copy_file(const char *from, const char *to, const struct stat *status, struct err *err)
{
    int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                      status->st_mode & 0777);
    bool is_done = source >= 0 && target >= 0 && os_copy_bytes(source, target, status->st_size);
    int fault = errno;
    if (source >= 0) {
        close(source);
    }
    if (target >= 0) {
        is_done = close(target) == 0 && is_done;
    }
    return is_done || err_set(err, ERR_IO, "cannot copy %s to %s: %s", from, to, strerror(fault));
}

static _Thread_local struct {
    size_t from_len;
    const char *to;
    struct err *err;
} copying;

static int copy_link(const char *path, const char *to)
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    if (length <= 0 ||
        !state_link_is_inside(str_from(path + copying.from_len + 1), str_from(target))) {
        err_set(copying.err, ERR_USAGE,
                "%.300s is a symbolic link to %.200s, which is outside of the directory and would "
                "be missing on the nodes; replace it by a copy or remove it",
                path, target);
        return 1;
    }
    if ((unlink(to) != 0 && errno != ENOENT) || symlink(target, to) != 0) {
        err_set(copying.err, ERR_IO, "cannot create %.300s: %s", to, strerror(errno));
        return 1;
    }
    return 0;
}

static int copy_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    char to[SLOT_PATH_MAX * 2];
    (void)where;
    int len = snprintf(to, sizeof(to), "%s%s", copying.to, path + copying.from_len);
    if (kind == FTW_DNR || kind == FTW_NS || len >= (int)sizeof(to)) {
        err_set(copying.err, ERR_IO, "cannot copy %.300s: %s", path,
                kind == FTW_F || kind == FTW_D ? "its path is too long" : "cannot read it");
        return 1;
    }
    if (kind == FTW_D) {
        if (mkdir(to, 0700) != 0 && errno != EEXIST) {
            err_set(copying.err, ERR_IO, "cannot create %s: %s", to, strerror(errno));
            return 1;
        }
        return 0;
    }
    if (kind == FTW_SL) {
        return copy_link(path, to);
    }
    /* Special files are not state. */
    return kind != FTW_F || copy_file(path, to, status, copying.err) ? 0 : 1;
}

bool slot_folder_copy(const char *from, const char *to, bool is_added, struct err *err)
{
    if (!is_added && !file_remove_folder(to, err)) {
        return false;
    }
    *err = (struct err){0};
    copying.from_len = strlen(from);
    copying.to = to;
    copying.err = err;
    if (nftw(from, copy_entry, FOLDERS_OPEN_MAX, FTW_PHYS) != 0) {
        return err->kind != ERR_NONE
                   ? false
                   : err_set(err, ERR_IO, "cannot read %s: %s", from, strerror(errno));
    }
    return true;
}
