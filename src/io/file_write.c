/*
 * file_write.c: crash-safe changes on disk.
 *
 * The new file is written next to the old one under an unpredictable name, synced, and renamed over
 * it; then the folder is synced, because otherwise the rename could be lost.
 */
#include "io/file.h"

#include "io/failpoint.h"
#include "io/os.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool file_write_fail(struct err *err, const char *path)
{
    enum err_kind kind = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    return err_set(err, kind, "%s: %s", path, strerror(errno));
}

/* A path split into folder ("." if there is none) and file name. */
struct file_write_place {
    char folder[PATH_MAX];
    const char *name;
};

static bool split_path(const char *path, struct file_write_place *ret_place, struct err *err)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    ret_place->name = slash ? slash + 1 : path;
    if (strlen(path) >= PATH_MAX || strlen(ret_place->name) > NAME_MAX - 32) {
        return err_set(err, ERR_USAGE, "the name of the file is too long");
    }
    if (*ret_place->name == '\0') {
        return err_set(err, ERR_USAGE, "\"%s\" does not name a file", path);
    }
    if (!slash) {
        memcpy(ret_place->folder, ".", 2);
    } else if (len == 0) {
        memcpy(ret_place->folder, "/", 2);
    } else {
        memcpy(ret_place->folder, path, len);
        ret_place->folder[len] = '\0';
    }
    return true;
}

static bool file_write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t put = write(fd, bytes.ptr, bytes.len);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        bytes = put < 0 ? bytes : str_sub(bytes, (size_t)put, bytes.len);
    }
    return true;
}

/* fchmod, because open() applied the user's umask. */
static bool file_write_fill(int fd, struct str bytes, uint32_t mode)
{
    bool ok = fchmod(fd, (mode_t)mode) == 0 && file_write_all(fd, bytes) && fsync(fd) == 0;
    int cause = errno;
    ok = close(fd) == 0 && ok; /* some file systems report a full disk only here */
    errno = ok ? 0 : (cause ? cause : EIO);
    return ok;
}

/* Created with no access for others; gets its final mode before its contents. */
static int open_new(int folder, char *temporary, size_t size, const char *name)
{
    snprintf(temporary, size, ".%s.%016llx", name, (unsigned long long)os_seed());
    return openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool replace_in(int folder, const char *name, struct str bytes, uint32_t mode)
{
    char temporary[NAME_MAX + 1];
    errno = 0;
    int fd = open_new(folder, temporary, sizeof(temporary), name);
    if (fd < 0) {
        return false;
    }
    failpoint("file", name, "before");
    if (!file_write_fill(fd, bytes, mode) || renameat(folder, temporary, folder, name) != 0) {
        int cause = errno;
        unlinkat(folder, temporary, 0);
        errno = cause;
        return false;
    }
    failpoint("file", name, "after");
    return fsync(folder) == 0;
}

/* The path must lead to a regular file or nothing: /dev/stdout must not be replaced. */
static bool is_replaceable(const char *path, struct err *err)
{
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) {
        return true;
    }
    return err_set(err, ERR_USAGE, "%s: not a regular file; it cannot be replaced", path);
}

bool file_write(const char *path, struct str bytes, uint32_t mode, struct err *err)
{
    struct file_write_place place;
    if (!split_path(path, &place, err) || !is_replaceable(path, err)) {
        return false;
    }
    int folder = open(place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return file_write_fail(err, place.folder);
    }
    bool ok = replace_in(folder, place.name, bytes, mode) || file_write_fail(err, path);
    close(folder);
    return ok;
}

bool file_append(const char *path, struct str bytes, uint32_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0) {
        return file_write_fail(err, path);
    }
    bool ok = file_write_all(fd, bytes);
    int cause = errno;
    ok = close(fd) == 0 && ok;
    errno = cause;
    return ok || file_write_fail(err, path);
}

/* ---- removing ---- */

enum { FOLDERS_OPEN_MAX = 16 };

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    failpoint("remove", path, "before");
    return remove(path);
}

bool file_remove_folder(const char *path, struct err *err)
{
    if (file_stat(path).kind == FILE_MISSING ||
        nftw(path, remove_entry, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS) == 0) {
        return true;
    }
    return err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
}
