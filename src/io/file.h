/* file.h: reads and writes files and folders. No other module opens files. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads a whole file, pipe or standard input ("-"), at most `out->cap` bytes. */
bool file_read(const char *path, struct buf *out, struct err *err) MUST_USE;

/*
 * Like file_read(), for keys and passwords: requires a regular file owned by this user or root that
 * no other user may read or write; otherwise fails with ERR_AUTH and the command that fixes it.
 * Links are followed; the check applies to the file itself.
 */
bool file_read_secret(const char *path, struct buf *out, struct err *err) MUST_USE;

/*
 * Atomically replaces `path` with a file containing `bytes`, with exactly these permission bits. A
 * reader, even after a crash, sees either the whole old file or the whole new one; on success the
 * new one is on disk. A link at `path` is replaced, not followed. Fails if `path` is, or links to,
 * anything but a regular file, such as /dev/stdout.
 */
bool file_write(const char *path, struct str bytes, uint32_t mode, struct err *err) MUST_USE;

/* Appends to a file, which is created with these permission bits. Not synced: for logs. */
bool file_append(const char *path, struct str bytes, uint32_t mode, struct err *err) MUST_USE;

/*
 * Creates a folder that only this user can enter, and its missing parents likewise. An existing one
 * must be such a folder, not a link to one. Every folder on the path must belong to this user or
 * root, and no other user may be able to write to it unless it is a sticky folder of root, such as
 * /tmp. Otherwise fails with ERR_AUTH, which names the component, its owner and the fix. Never
 * changes existing permissions.
 */
bool file_make_private_folder(const char *path, struct err *err) MUST_USE;

/* The same checks, but creates nothing: ERR_NOT_FOUND if it does not exist. */
bool file_check_private_folder(const char *path, struct err *err) MUST_USE;

/* Removes a folder and everything in it. Links are removed, not followed. Succeeds if it does not
 * exist. */
bool file_remove_folder(const char *path, struct err *err) MUST_USE;

/* Reads a regular file of any size in pieces. `take` returns false to stop. */
typedef bool file_bytes_fn(void *context, struct str bytes);
bool file_stream(const char *path, file_bytes_fn *take, void *context, struct err *err) MUST_USE;

enum file_kind { FILE_MISSING, FILE_REGULAR, FILE_FOLDER, FILE_SPECIAL };

struct file_status {
    enum file_kind kind; /* links followed */
    uint32_t mode;       /* permission bits */
    bool is_readable;    /* by this user; a folder must also be searchable */
};
struct file_status file_stat(const char *path);

struct file_entry {
    struct str name;
    bool is_folder; /* links followed */
    bool is_link;
};

/* Every entry except "." and "..", in no particular order. None if the folder cannot be read. */
typedef void file_entry_fn(void *context, const struct file_entry *entry);
void file_list(const char *path, file_entry_fn *take, void *context);

/* Expands a leading "~" or "~name" to the home folder, like Python's expanduser. */
struct str file_expand_home(struct arena *arena, struct str path);
