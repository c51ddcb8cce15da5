/* file.h: reading files and folders, and writing files. The only place that opens one. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The whole of a file, a pipe, or standard input ("-"), at most `out->cap` bytes of it. */
bool file_read(const char *path, struct buf *out, struct err *err) MUST_USE;

/* Makes the file or replaces what is in it. A failure may leave a part of it. */
bool file_write(const char *path, struct str bytes, struct err *err) MUST_USE;

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
