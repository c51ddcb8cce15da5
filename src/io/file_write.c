/*
 * file_write.c: changing what is on disk so that a crash at any moment leaves something whole.
 *
 * The new file is written beside the old one under a name nobody can guess, synced, and renamed
 * over it; then the folder is synced, or the rename itself could be lost.
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct err *err, const char *path)
{
    enum err_kind kind = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    return err_set(err, kind, "%s: %s", path, strerror(errno));
}

/* A path in two: the folder ("." when there is none) and the name in it. */
struct place {
    char folder[PATH_MAX];
    const char *name;
};

static bool split_path(const char *path, struct place *ret_place, struct err *err)
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

static bool write_all(int fd, struct str bytes)
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

/* fchmod, because the user's umask has changed what open was asked for. */
static bool fill(int fd, struct str bytes, uint32_t mode)
{
    bool ok = fchmod(fd, (mode_t)mode) == 0 && write_all(fd, bytes) && fsync(fd) == 0;
    int cause = errno;
    ok = close(fd) == 0 && ok; /* some file systems report a full disk only here */
    errno = ok ? 0 : (cause ? cause : EIO);
    return ok;
}

/* Born readable by nobody else; it gets its real mode before it gets its bytes. */
static int open_new(int folder, char *temporary, size_t size, const char *name)
{
    uint64_t dice = 0;
    if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice)) {
        return -1;
    }
    snprintf(temporary, size, ".%s.%016llx", name, (unsigned long long)dice);
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
    if (!fill(fd, bytes, mode) || renameat(folder, temporary, folder, name) != 0) {
        int cause = errno;
        unlinkat(folder, temporary, 0);
        errno = cause;
        return false;
    }
    return fsync(folder) == 0;
}

/* What a path leads to must be a file or nothing: /dev/stdout is not to be replaced. */
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
    struct place place;
    if (!split_path(path, &place, err) || !is_replaceable(path, err)) {
        return false;
    }
    int folder = open(place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return fail(err, place.folder);
    }
    bool ok = replace_in(folder, place.name, bytes, mode) || fail(err, path);
    close(folder);
    return ok;
}

/* Makes what is missing on the way to `path`. What is there already may be anything. */
static bool make_way(char *path, struct err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST || fail(err, path);
        *slash = '/';
        if (!ok) {
            return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST || fail(err, path);
}

static bool check_folder(const char *path, struct err *err)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return fail(err, path);
    }
    if (!S_ISDIR(status.st_mode)) {
        return err_set(err, ERR_AUTH, "%s: not a folder%s", path,
                       S_ISLNK(status.st_mode) ? " but a link, and what it names can change" : "");
    }
    if (status.st_uid != geteuid()) {
        return err_set(err, ERR_AUTH, "%s: belongs to another user (uid %u)", path,
                       (unsigned)status.st_uid);
    }
    if (status.st_mode & 077) {
        return err_set(err, ERR_AUTH, "%s: others can enter it (mode %04o); run: chmod 700 %s",
                       path, (unsigned)(status.st_mode & 07777), path);
    }
    return true;
}

bool file_make_private_folder(const char *path, struct err *err)
{
    char copy[PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    if (len == 0 || len >= sizeof(copy)) {
        return err_set(err, ERR_USAGE, "the name of the folder is %s", len ? "too long" : "empty");
    }
    memcpy(copy, path, len);
    copy[len] = '\0';
    return make_way(copy, err) && check_folder(copy, err);
}

bool file_append(const char *path, struct str bytes, uint32_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0) {
        return fail(err, path);
    }
    bool ok = write_all(fd, bytes);
    int cause = errno;
    ok = close(fd) == 0 && ok;
    errno = cause;
    return ok || fail(err, path);
}
