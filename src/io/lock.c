/*
 * lock.c: an open file description lock. Unlike flock(), it can be queried without taking it. The
 * lock file is never removed: otherwise two processes could lock two files of the same name.
 */
#include "io/lock.h"

#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct lock {
    int fd;
};

enum { HOLDER_BYTES_MAX = 200 };

static void read_holder(int fd, char *holder)
{
    ssize_t size = pread(fd, holder, HOLDER_BYTES_MAX - 1, 0);
    holder[size > 0 ? size : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
}

static bool lock_reject(int fd, const char *path, struct err *err)
{
    char holder[HOLDER_BYTES_MAX];
    read_holder(fd, holder);
    close(fd);
    return err_set(err, ERR_EXISTS, "the state directory is in use by %s (lock file %s)",
                   holder[0] ? holder : "another process", path);
}

bool lock_take(const char *path, const char *holder, struct lock **ret_lock, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
        int why = errno;
        if (why == EAGAIN || why == EACCES) { /* POSIX allows both for a lock that is held */
            return lock_reject(fd, path, err);
        }
        close(fd);
        return err_set(err, ERR_IO,
                       "%s cannot be locked: %s. Shoal needs a file system with locks there, such "
                       "as a local disk",
                       path, strerror(why));
    }
    /* The text is informational; if the disk is full, the lock still holds. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, holder, strlen(holder), 0) < 0) {
        errno = 0;
    }
    struct lock *lock = HEAP_NEW(struct lock);
    lock->fd = fd;
    *ret_lock = lock;
    return true;
}

void lock_drop(struct lock *lock)
{
    if (lock) {
        close(lock->fd);
        free(lock);
    }
}

bool lock_is_held(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool is_held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    if (fd >= 0) {
        close(fd);
    }
    return is_held;
}

void lock_holder(const char *path, struct buf *out)
{
    char holder[HOLDER_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        read_holder(fd, holder);
        buf_add_c(out, holder);
        close(fd);
    }
}
