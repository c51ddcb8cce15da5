/* file.h: reading and writing files and folders. The only place that opens one. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The whole of a file, a pipe, or standard input ("-"), at most `out->cap` bytes of it. */
bool file_read(const char *path, struct buf *out, struct err *err) MUST_USE;

/*
 * As file_read(), for keys and passwords: a regular file of this user (or of root) that nobody else
 * may read or write; else ERR_AUTH with the command that mends it. Links are followed, so what
 * counts is the file itself.
 */
bool file_read_secret(const char *path, struct buf *out, struct err *err) MUST_USE;

/*
 * Replaces `path` by a file that holds `bytes`, with exactly these permission bits. Whoever reads
 * it, now or after a crash, finds the old file or the new one, whole; when this returns true the
 * new one is on disk. A link at `path` is replaced, not followed, unless it leads to something that
 * is no file, such as /dev/stdout: that is refused, as is such a thing itself.
 */
bool file_write(const char *path, struct str bytes, uint32_t mode, struct err *err) MUST_USE;

/* Adds to the end of a file, which is made with these permission bits; not synced: for logs. */
bool file_append(const char *path, struct str bytes, uint32_t mode, struct err *err) MUST_USE;

/*
 * Makes a folder that only this user can enter, and the missing folders above it likewise. One that
 * is there already must be such a folder and no link to one; else ERR_AUTH with the command that
 * mends it. Its permissions are not changed behind the user's back.
 */
bool file_make_private_folder(const char *path, struct err *err) MUST_USE;

/* A regular file in pieces, however large. `take` returns false to stop. */
typedef bool file_bytes_fn(void *context, struct str bytes);
bool file_stream(const char *path, file_bytes_fn *take, void *context, struct err *err) MUST_USE;

enum file_kind { FILE_MISSING, FILE_REGULAR, FILE_FOLDER, FILE_SPECIAL };

struct file_status {
    enum file_kind kind; /* links followed */
    uint32_t mode;       /* permission bits */
    bool is_readable;    /* by this user; a folder also enterable */
};
struct file_status file_look(const char *path);

struct file_entry {
    struct str name;
    bool is_folder; /* links followed */
    bool is_link;
};

/* Every entry but "." and "..", in no order. A folder that cannot be read has none. */
typedef void file_entry_fn(void *context, const struct file_entry *entry);
void file_list(const char *path, file_entry_fn *take, void *context);

/* "~" and "~name" at the start of a path to the home folder, as Python's expanduser does. */
struct str file_expand_home(struct arena *arena, struct str path);
