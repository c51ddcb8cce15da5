/* store_place.c: a directory that the nodes share, as a place for checkpoints. */
#include "app/train/store_place.h"

#include "io/failpoint.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20, PATH_BYTES = STORE_KEY_MAX + 1024 };

struct folder_place {
    struct store_place base;
    char root[1024];
};

static bool folder_path(const struct store_place *place, const char *key, char ret[PATH_BYTES],
                        struct err *err)
{
    const struct folder_place *folder = (const struct folder_place *)place;
    int len = snprintf(ret, PATH_BYTES, "%s/%s", folder->root, key);
    return (len > 0 && len < PATH_BYTES) ||
           err_set(err, ERR_IO, "the path of %.200s is too long", key);
}

/* The folders above a file. */
static bool folder_make_parents(const char *path, struct err *err)
{
    char part[PATH_BYTES];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST) {
            return err_set(err, ERR_IO, "cannot create %.500s: %s", part, strerror(errno));
        }
    }
    return true;
}

static bool folder_write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Copies and digests in one pass. */
static bool folder_copy(int from, int to, int64_t size, uint8_t ret_digest[SHA256_BYTES],
                        struct err *err)
{
    char *piece = heap_zeroed(PIECE_BYTES);
    struct sha256_state *digest = sha256_begin();
    bool is_done = true;
    int64_t done = 0;
    while (is_done) {
        ssize_t got = pread(from, piece, PIECE_BYTES, done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            is_done = got == 0 || err_set(err, ERR_IO, "cannot read: %s", strerror(errno));
            break;
        }
        sha256_add(digest, (struct str){piece, (size_t)got});
        done += got;
        is_done = folder_write_all(to, piece, (size_t)got) ||
                  err_set(err, ERR_IO, "cannot write: %s", strerror(errno));
    }
    sha256_end(digest, ret_digest);
    free(piece);
    return is_done && (done == size || err_set(err, ERR_PROTOCOL, "it has %lld bytes, not %lld",
                                               (long long)done, (long long)size));
}

static bool folder_put(struct store_place *place, const char *key, int file, int64_t size,
                       uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    char path[PATH_BYTES];
    char temp[PATH_BYTES + 32];
    if (!folder_path(place, key, path, err) || !folder_make_parents(path, err)) {
        return false;
    }
    snprintf(temp, sizeof(temp), "%s.tmp-%d", path, (int)getpid());
    int to = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0) {
        return err_set(err, ERR_IO, "cannot create %.500s: %s", temp, strerror(errno));
    }
    bool is_put = folder_copy(file, to, size, ret_digest, err) &&
                  (fsync(to) == 0 || err_set(err, ERR_IO, "cannot write: %s", strerror(errno)));
    is_put = (close(to) == 0 || !is_put ||
              err_set(err, ERR_IO, "cannot write: %s", strerror(errno))) &&
             is_put;
    failpoint("rename", "store", "before");
    if (is_put && rename(temp, path) != 0) {
        is_put = err_set(err, ERR_IO, "cannot rename: %s", strerror(errno));
    }
    if (!is_put) {
        unlink(temp);
        err_wrap(err, "%.300s: ", path);
    }
    return is_put;
}

/* The system creates it for one process only. */
static bool folder_put_new(const char *path, struct str text, struct err *err)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        return err_set(err, errno == EEXIST ? ERR_EXISTS : ERR_IO, "cannot create %.500s: %s", path,
                       strerror(errno));
    }
    bool is_put = (folder_write_all(file, text.ptr, text.len) && fsync(file) == 0) ||
                  err_set(err, ERR_IO, "cannot write %.500s: %s", path, strerror(errno));
    is_put = (close(file) == 0 || !is_put ||
              err_set(err, ERR_IO, "cannot write %.500s: %s", path, strerror(errno))) &&
             is_put;
    if (!is_put) {
        unlink(path);
    }
    return is_put;
}

static bool folder_put_text(struct store_place *place, const char *key, struct str text,
                            bool is_new, struct err *err)
{
    char path[PATH_BYTES];
    return folder_path(place, key, path, err) && folder_make_parents(path, err) &&
           (is_new ? folder_put_new(path, text, err) : file_write(path, text, 0600, err));
}

static bool folder_get(struct store_place *place, const char *key, int file, int64_t size,
                       uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    char path[PATH_BYTES];
    if (!folder_path(place, key, path, err)) {
        return false;
    }
    int from = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %.500s: %s",
                       path, strerror(errno));
    }
    bool is_got = folder_copy(from, file, size, ret_digest, err) || err_wrap(err, "%.300s: ", path);
    close(from);
    return is_got;
}

static bool folder_get_text(struct store_place *place, const char *key, struct buf *out,
                            struct err *err)
{
    char path[PATH_BYTES];
    return folder_path(place, key, path, err) && file_read(path, out, err);
}

struct folder_names {
    store_name_fn *take;
    void *context;
};

static void folder_on_entry(void *context, const struct file_entry *entry)
{
    const struct folder_names *names = context;
    names->take(names->context, entry->name);
}

static bool folder_list(struct store_place *place, const char *folder, store_name_fn *take,
                        void *context, struct err *err)
{
    char path[PATH_BYTES];
    struct folder_names names = {take, context};
    if (!folder_path(place, folder, path, err)) {
        return false;
    }
    struct file_status status = file_stat(path);
    if (status.kind != FILE_MISSING && !status.is_readable) {
        return err_set(err, ERR_IO, "cannot read the directory %.500s", path);
    }
    file_list(path, folder_on_entry, &names);
    return true;
}

/* Renamed first, so that half of a checkpoint is never seen. */
static bool folder_remove(struct store_place *place, const char *folder, struct err *err)
{
    char path[PATH_BYTES];
    char gone[PATH_BYTES + 32];
    if (!folder_path(place, folder, path, err)) {
        return false;
    }
    path[strlen(path) - 1] = '\0'; /* the slash */
    snprintf(gone, sizeof(gone), "%s.removed", path);
    failpoint("rename", "removed", "before");
    return file_remove_folder(gone, err) &&
           (rename(path, gone) == 0 || errno == ENOENT ||
            err_set(err, ERR_IO, "cannot rename %.500s: %s", path, strerror(errno))) &&
           file_remove_folder(gone, err);
}

static void folder_close(struct store_place *place)
{
    free(place);
}

static const struct store_place_ops folder_ops = {folder_put,      folder_put_text, folder_get,
                                                  folder_get_text, folder_list,     folder_remove,
                                                  folder_close};

static bool store_is_bucket(const char *where)
{
    return str_starts(str_from(where), "s3://") || str_starts(str_from(where), "gs://");
}

bool store_where_check(const char *where, struct err *err)
{
    bool is_bucket = store_is_bucket(where);
    bool is_valid = is_bucket ? where[5] != '\0' && where[5] != '/' : where[0] == '/';
    return (is_valid && strlen(where) < 900) ||
           err_set(err, ERR_USAGE,
                   "--output needs the absolute path of a directory that all nodes share, "
                   "s3://BUCKET/PREFIX or gs://BUCKET/PREFIX, not \"%.200s\"",
                   where);
}

bool store_place_open(const char *where, const char *job, struct store_place **ret_place,
                      struct err *err)
{
    if (!store_where_check(where, err)) {
        return false;
    }
    if (store_is_bucket(where)) {
        return store_s3_open(where, job, ret_place, err);
    }
    struct folder_place *folder = HEAP_NEW(struct folder_place);
    folder->base.ops = &folder_ops;
    snprintf(folder->root, sizeof(folder->root), "%s/%s", where, job);
    *ret_place = &folder->base;
    return true;
}

void store_place_close(struct store_place *place)
{
    if (place) {
        place->ops->close(place);
    }
}
