/*
 * host.h: access to the local machine for checks and hashes.
 *
 * Checks ("does this file mount exist?") and hashes of file contents need the file system. This
 * layer does no I/O itself, so that tests and fuzzers can use a simulated machine. app/local_host.c
 * is the real one.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum host_file_kind { HOST_MISSING, HOST_FILE, HOST_FOLDER, HOST_OTHER };

struct host_file {
    enum host_file_kind kind; /* symbolic links are followed */
    uint32_t mode;            /* permission bits */
    bool is_readable;         /* this user can read it */
};

struct host_entry {
    struct str name;
    bool is_folder; /* links followed */
    bool is_link;
};

/* Receives the contents in pieces, in order. */
typedef void host_bytes_fn(void *context, struct str bytes);
typedef void host_entry_fn(void *context, const struct host_entry *entry);

struct host {
    /* Expands "~/x" to "/home/me/x", like Python's expanduser; anything else is unchanged. */
    struct str (*expand)(const struct host *host, struct arena *arena, struct str path);
    struct host_file (*look)(const struct host *host, struct str path);
    bool (*read)(const struct host *host, struct str path, host_bytes_fn *take, void *context,
                 struct err *err);
    /* Entries in no particular order; none if the folder cannot be listed. */
    void (*list)(const struct host *host, struct str path, host_entry_fn *take, void *context);
};
