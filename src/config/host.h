/*
 * host.h: what the configuration may ask of the machine it is read on.
 *
 * Checks ("does this file mount exist?") and hashes (of its contents) need the file system; this
 * layer does no I/O of its own, so that the same code runs in tests and fuzzers over a machine
 * that is made up. app/local_host.c is the real one.
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
    bool is_readable;         /* by this user */
};

struct host_entry {
    struct str name;
    bool is_folder; /* links followed */
    bool is_link;
};

/* Gets the contents in pieces, in order. */
typedef void host_bytes_fn(void *context, struct str bytes);
typedef void host_entry_fn(void *context, const struct host_entry *entry);

struct host {
    /* "~/x" to "/home/me/x", as Python's expanduser does; anything else unchanged. */
    struct str (*expand)(const struct host *host, struct arena *arena, struct str path);
    struct host_file (*look)(const struct host *host, struct str path);
    bool (*read)(const struct host *host, struct str path, host_bytes_fn *take, void *context,
                 struct err *err);
    /* Entries in no particular order. A folder that cannot be listed has none. */
    void (*list)(const struct host *host, struct str path, host_entry_fn *take, void *context);
};
