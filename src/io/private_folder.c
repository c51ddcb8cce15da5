/*
 * private_folder.c: checks the path of a private folder component by component.
 *
 * A user who can write to a folder on the path can replace everything below it. So every component
 * must belong to this user or root and must not be writable by others. The one exception is a
 * sticky folder of root, such as /tmp: there, only the owner of an entry can replace it. Each
 * component is opened relative to its parent, so the checked folder is the one used.
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* To pass through a folder without reading it. glibc has only Linux's own name for it. */
#ifndef O_SEARCH
#define O_SEARCH O_PATH
#endif

enum { LINKS_MAX = 32, ROOT_USER = 0 };

struct private_folder_walk {
    int fd;              /* the current folder; -1: none */
    char done[PATH_MAX]; /* path so far, for error messages */
    char rest[PATH_MAX]; /* components still to visit */
    bool makes;          /* creates missing folders */
    unsigned links;
};

static bool private_folder_fail(const struct private_folder_walk *walk, const char *name,
                                struct err *err)
{
    enum err_kind kind = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    return err_set(err, kind, "%s/%s: %s", walk->done, name, strerror(errno));
}

/* ---- one component ---- */

static bool fail_owner(const struct private_folder_walk *walk, const char *name, uid_t owner,
                       struct err *err)
{
    const struct passwd *account = getpwuid(owner);
    return err_set(err, ERR_AUTH,
                   "%s/%s belongs to another user: %s (uid %u), who could read or replace the "
                   "keys kept below it. Remove it, or set XDG_STATE_HOME and XDG_RUNTIME_DIR to "
                   "directories of your own",
                   walk->done, name, account ? account->pw_name : "no name", (unsigned)owner);
}

/* Mode 0775 is common where every user has a private group of the same name. */
static bool is_group_of_one(gid_t group)
{
    const struct passwd *account = getpwuid(geteuid());
    const struct group *found = account && account->pw_gid == group ? getgrgid(group) : NULL;
    if (!found || strcmp(found->gr_name, account->pw_name) != 0) {
        return false;
    }
    for (char **member = found->gr_mem; *member; member++) {
        if (strcmp(*member, account->pw_name) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_closed_to_others(const struct stat *status)
{
    bool is_sticky_of_root = (status->st_mode & S_ISVTX) && status->st_uid == ROOT_USER;
    bool is_closed_to_group = !(status->st_mode & S_IWGRP) || is_group_of_one(status->st_gid);
    return is_sticky_of_root || (!(status->st_mode & S_IWOTH) && is_closed_to_group);
}

static bool check_owner(const struct private_folder_walk *walk, const char *name,
                        const struct stat *status, struct err *err)
{
    return status->st_uid == geteuid() || status->st_uid == ROOT_USER ||
           fail_owner(walk, name, status->st_uid, err);
}

static bool check_folder(const struct private_folder_walk *walk, const char *name,
                         const struct stat *status, struct err *err)
{
    if (!S_ISDIR(status->st_mode)) {
        errno = ENOTDIR;
        return private_folder_fail(walk, name, err);
    }
    if (!check_owner(walk, name, status, err)) {
        return false;
    }
    return is_closed_to_others(status) ||
           err_set(err, ERR_AUTH,
                   "%s/%s: other users can write to it (mode %04o), so they could replace the keys "
                   "kept below it; run: chmod go-w %s/%s",
                   walk->done, name, (unsigned)(status->st_mode & 07777), walk->done, name);
}

/* The last folder has a stricter rule: no other user may enter it. */
static bool check_last(const struct private_folder_walk *walk, const char *name,
                       const struct stat *status, struct err *err)
{
    if (!S_ISDIR(status->st_mode)) {
        return err_set(err, ERR_AUTH, "%s/%s: not a directory%s", walk->done, name,
                       S_ISLNK(status->st_mode) ? " but a symbolic link, whose target can "
                                                  "change; replace it with a directory"
                                                : "");
    }
    if (status->st_uid != geteuid()) {
        return fail_owner(walk, name, status->st_uid, err);
    }
    return (status->st_mode & 077) == 0 ||
           err_set(err, ERR_AUTH,
                   "%s/%s: other users can access it (mode %04o); run: chmod 700 "
                   "%s/%s",
                   walk->done, name, (unsigned)(status->st_mode & 07777), walk->done, name);
}

/* ---- the walk ---- */

static void private_folder_enter(struct private_folder_walk *walk, int fd, const char *name)
{
    size_t len = strlen(walk->done);
    snprintf(walk->done + len, sizeof(walk->done) - len, "/%s", name);
    close(walk->fd);
    walk->fd = fd;
}

static bool private_folder_begin(struct private_folder_walk *walk, struct err *err)
{
    if (walk->fd >= 0) {
        close(walk->fd);
    }
    walk->done[0] = '\0';
    walk->fd = open("/", O_SEARCH | O_DIRECTORY | O_CLOEXEC);
    return walk->fd >= 0 || private_folder_fail(walk, "", err);
}

/* Removes the next component from `rest`; false at the end. */
static bool next_name(struct private_folder_walk *walk, char name[NAME_MAX + 1])
{
    size_t skip = strspn(walk->rest, "/");
    size_t len = strcspn(walk->rest + skip, "/");
    if (len == 0 || len > NAME_MAX) {
        return false;
    }
    memcpy(name, walk->rest + skip, len);
    name[len] = '\0';
    memmove(walk->rest, walk->rest + skip + len, strlen(walk->rest + skip + len) + 1);
    return true;
}

/* Follows a link of this user or of root: replaces its name in `rest` with its target. */
static bool private_folder_follow(struct private_folder_walk *walk, const char *name,
                                  struct err *err)
{
    char path[2 * PATH_MAX];
    ssize_t size = readlinkat(walk->fd, name, path, PATH_MAX - 1);
    if (size <= 0 || ++walk->links > LINKS_MAX) {
        errno = size <= 0 ? errno : ELOOP;
        return private_folder_fail(walk, name, err);
    }
    snprintf(path + size, sizeof(path) - (size_t)size, "/%s", walk->rest);
    if (strlen(path) >= sizeof(walk->rest)) {
        errno = ENAMETOOLONG;
        return private_folder_fail(walk, name, err);
    }
    memcpy(walk->rest, path, strlen(path) + 1);
    return path[0] != '/' || private_folder_begin(walk, err);
}

static bool has_component(const struct private_folder_walk *walk, const char *name,
                          struct stat *ret_status)
{
    return fstatat(walk->fd, name, ret_status, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * The status of a component, and its descriptor if it is a folder, otherwise -1. Only its owner or
 * root can replace a link between this and readlinkat(): the parent folder was checked.
 */
static bool open_component(const struct private_folder_walk *walk, const char *name, int *ret_fd,
                           struct stat *ret_status)
{
    bool is_there = has_component(walk, name, ret_status);
    *ret_fd = -1;
    if (!is_there && errno == ENOENT && walk->makes) {
        is_there = (mkdirat(walk->fd, name, 0700) == 0 || errno == EEXIST) &&
                   has_component(walk, name, ret_status);
    }
    if (!is_there || !S_ISDIR(ret_status->st_mode)) {
        return is_there;
    }
    *ret_fd = openat(walk->fd, name, O_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd >= 0 && fstat(*ret_fd, ret_status) == 0;
}

static bool private_folder_step(struct private_folder_walk *walk, const char *name, bool is_last,
                                struct err *err)
{
    struct stat status;
    int fd = -1;
    if (!open_component(walk, name, &fd, &status)) {
        private_folder_fail(walk, name, err);
    } else if (is_last && check_last(walk, name, &status, err)) {
        private_folder_enter(walk, fd, name);
        return true;
    } else if (!is_last && S_ISLNK(status.st_mode)) {
        return check_owner(walk, name, &status, err) && private_folder_follow(walk, name, err);
    } else if (!is_last && check_folder(walk, name, &status, err)) {
        private_folder_enter(walk, fd, name);
        return true;
    }
    if (fd >= 0) {
        close(fd);
    }
    return false;
}

static bool private_folder_is_empty(const char *rest)
{
    return rest[strspn(rest, "/")] == '\0';
}

/* A relative path is checked from the root too, because its parents matter as much. */
static bool set_path(struct private_folder_walk *walk, const char *path, struct err *err)
{
    size_t used = 0;
    if (private_folder_is_empty(path)) {
        return err_set(err, ERR_USAGE, "\"%s\" does not name a private directory", path);
    }
    if (path[0] != '/') {
        if (!getcwd(walk->rest, sizeof(walk->rest) - 1)) {
            return private_folder_fail(walk, path, err);
        }
        used = strlen(walk->rest);
        walk->rest[used++] = '/';
    }
    if (used + strlen(path) >= sizeof(walk->rest)) {
        return err_set(err, ERR_USAGE, "the name of the directory is too long");
    }
    memcpy(walk->rest + used, path, strlen(path) + 1);
    return true;
}

static bool walk_path(const char *path, bool makes, struct err *err)
{
    struct private_folder_walk walk = {.fd = -1, .makes = makes};
    char name[NAME_MAX + 1];
    bool ok = set_path(&walk, path, err) && private_folder_begin(&walk, err);
    while (ok && next_name(&walk, name)) {
        ok = private_folder_step(&walk, name, private_folder_is_empty(walk.rest), err);
    }
    if (ok && !private_folder_is_empty(walk.rest)) {
        ok = err_set(err, ERR_USAGE, "the name of the directory is too long");
    }
    if (walk.fd >= 0) {
        close(walk.fd);
    }
    return ok;
}

bool file_make_private_folder(const char *path, struct err *err)
{
    return walk_path(path, true, err);
}

bool file_check_private_folder(const char *path, struct err *err)
{
    return walk_path(path, false, err);
}
