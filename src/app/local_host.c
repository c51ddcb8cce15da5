/* local_host.c: implements config/host.h with io/file.h. */
#include "app/local_host.h"

#include "io/file.h"

/* System calls need a NUL-terminated path; a path with an embedded NUL byte is invalid. */
static const char *terminated(struct arena *arena, struct str path)
{
    return str_find_char(path, '\0') == SIZE_MAX ? arena_str(arena, path).ptr : "";
}

static struct str expand(const struct host *host, struct arena *arena, struct str path)
{
    (void)host;
    return file_expand_home(arena, path);
}

static struct host_file local_host_inspect(const struct host *host, struct str path)
{
    static const enum host_file_kind kinds[] = {
        [FILE_MISSING] = HOST_MISSING,
        [FILE_REGULAR] = HOST_FILE,
        [FILE_FOLDER] = HOST_FOLDER,
        [FILE_SPECIAL] = HOST_OTHER,
    };
    struct arena scratch;
    (void)host;
    arena_init(&scratch);
    struct file_status status = file_stat(terminated(&scratch, path));
    arena_clear(&scratch);
    return (struct host_file){kinds[status.kind], status.mode, status.is_readable};
}

struct local_host_reading {
    host_bytes_fn *take;
    void *context;
};

static bool pass_bytes(void *context, struct str bytes)
{
    const struct local_host_reading *reading = context;
    reading->take(reading->context, bytes);
    return true;
}

static bool read_pieces(const struct host *host, struct str path, host_bytes_fn *take,
                        void *context, struct err *err)
{
    struct arena scratch;
    struct local_host_reading reading = {take, context};
    (void)host;
    arena_init(&scratch);
    bool ok = file_stream(terminated(&scratch, path), pass_bytes, &reading, err);
    arena_clear(&scratch);
    return ok;
}

struct local_host_listing {
    host_entry_fn *take;
    void *context;
};

static void pass_entry(void *context, const struct file_entry *entry)
{
    const struct local_host_listing *listing = context;
    struct host_entry seen = {entry->name, entry->is_folder, entry->is_link};
    listing->take(listing->context, &seen);
}

static void list(const struct host *host, struct str path, host_entry_fn *take, void *context)
{
    struct arena scratch;
    struct local_host_listing listing = {take, context};
    (void)host;
    arena_init(&scratch);
    file_list(terminated(&scratch, path), pass_entry, &listing);
    arena_clear(&scratch);
}

const struct host *local_host(void)
{
    static const struct host host = {expand, local_host_inspect, read_pieces, list};
    return &host;
}
