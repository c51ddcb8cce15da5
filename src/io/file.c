/* file.c: file system calls; every descriptor is opened close-on-exec. */
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024 };

static bool file_fail(struct err *err, const char *path)
{
    enum err_kind kind = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    return err_set(err, kind, "%s: %s", path, strerror(errno));
}

/* Reads to EOF and passes each piece to `take`. */
static bool file_read_all(int fd, const char *path, file_bytes_fn *take, void *context,
                          struct err *err)
{
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof(piece));
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return file_fail(err, path);
        }
        if (got > 0 && !take(context, (struct str){piece, (size_t)got})) {
            return true;
        }
    }
}

static bool take_into_buf(void *context, struct str bytes)
{
    struct buf *out = context;
    buf_add(out, bytes);
    return !out->is_full; /* the limit stops an endless input */
}

bool file_read(const char *path, struct buf *out, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    if (*path == '\0') {
        return err_set(err, ERR_USAGE, "the name of the file is empty");
    }
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return file_fail(err, path);
    }
    bool ok = file_read_all(fd, is_stdin ? "standard input" : path, take_into_buf, out, err);
    if (!is_stdin) {
        close(fd);
    }
    if (ok && out->is_full) {
        return err_set(err, ERR_CONFIG, "%s: larger than %zu bytes, the maximum", path, out->cap);
    }
    return ok;
}

/* Checks that no other user can read or write it. The error says how to fix it. */
static bool check_private(const char *path, const struct stat *status, const char *mode,
                          struct err *err)
{
    if (status->st_uid != geteuid() && status->st_uid != 0) {
        return err_set(err, ERR_AUTH, "%s: belongs to another user (uid %u), so it is not used",
                       path, (unsigned)status->st_uid);
    }
    if (status->st_mode & 077) {
        return err_set(err, ERR_AUTH,
                       "%s: other users can access it (mode %04o), so it is not used; run: chmod "
                       "%s %s",
                       path, (unsigned)(status->st_mode & 07777), mode, path);
    }
    return true;
}

/* Opens a regular file and returns its status. -1 on error. */
static int open_regular(const char *path, struct stat *ret_status, struct err *err)
{
    /* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        file_fail(err, path);
        return -1;
    }
    if (fstat(fd, ret_status) != 0) {
        file_fail(err, path);
    } else if (!S_ISREG(ret_status->st_mode)) {
        (void)err_set(err, ERR_IO, "%s: not a regular file", path);
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

bool file_read_secret(const char *path, struct buf *out, struct err *err)
{
    struct stat status;
    int fd = open_regular(path, &status, err);
    if (fd < 0) {
        return false;
    }
    bool ok = check_private(path, &status, "600", err) &&
              file_read_all(fd, path, take_into_buf, out, err);
    close(fd);
    if (ok && out->is_full) {
        return err_set(err, ERR_IO, "%s: larger than %zu bytes, the maximum for a secret", path,
                       out->cap);
    }
    return ok;
}

bool file_stream(const char *path, file_bytes_fn *take, void *context, struct err *err)
{
    struct stat status;
    int fd = open_regular(path, &status, err);
    if (fd < 0) {
        return false;
    }
    bool ok = file_read_all(fd, path, take, context, err);
    close(fd);
    return ok;
}

struct file_status file_stat(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return (struct file_status){.kind = FILE_MISSING};
    }
    struct file_status seen = {FILE_SPECIAL, status.st_mode & 07777, access(path, R_OK) == 0};
    if (S_ISREG(status.st_mode)) {
        seen.kind = FILE_REGULAR;
    } else if (S_ISDIR(status.st_mode)) {
        seen.kind = FILE_FOLDER;
        seen.is_readable = access(path, R_OK | X_OK) == 0;
    }
    return seen;
}

/* Most file systems return the type of an entry; others, and links, need a stat. */
static void look_at_entry(int folder, const struct dirent *item, struct file_entry *entry)
{
    struct stat status;
    bool is_unknown = item->d_type == DT_UNKNOWN;
    entry->is_link = item->d_type == DT_LNK ||
                     (is_unknown &&
                      fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISLNK(status.st_mode));
    entry->is_folder = item->d_type == DT_DIR ||
                       ((is_unknown || entry->is_link) &&
                        fstatat(folder, item->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode));
}

void file_list(const char *path, file_entry_fn *take, void *context)
{
    DIR *dir = opendir(path);
    if (!dir) {
        return;
    }
    for (struct dirent *item; (item = readdir(dir));) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) {
            continue;
        }
        struct file_entry entry = {.name = str_from(item->d_name)};
        look_at_entry(dirfd(dir), item, &entry);
        take(context, &entry);
    }
    closedir(dir);
}

static const char *file_home_of(struct arena *arena, struct str user)
{
    const char *home = getenv("HOME");
    if (user.len == 0 && home) {
        return home;
    }
    const struct passwd *account = user.len == 0 ? getpwuid(getuid())
                                                 : getpwnam(arena_str(arena, user).ptr);
    return account ? account->pw_dir : NULL;
}

struct str file_expand_home(struct arena *arena, struct str path)
{
    if (!str_starts(path, "~")) {
        return path;
    }
    size_t slash = str_find_char(path, '/');
    struct str rest = str_sub(path, slash, path.len);
    const char *found = file_home_of(arena, str_sub(path, 1, slash));
    if (!found) {
        return path;
    }
    struct str home = str_from(found);
    while (home.len > 0 && home.ptr[home.len - 1] == '/') {
        home.len--;
    }
    if (home.len + rest.len == 0) {
        return STR("/");
    }
    return arena_printf(arena, "%.*s%.*s", STR_ARG(home), STR_ARG(rest));
}
