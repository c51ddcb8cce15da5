/* fake_host.c: config/host.h over a table of files. */
#include "fake_host.h"

static const struct fake_file *find(const struct host *host, struct str path)
{
    const struct fake_host *fake = (const struct fake_host *)host;
    for (size_t i = 0; i < fake->count; i++) {
        if (str_is(path, fake->files[i].path)) {
            return &fake->files[i];
        }
    }
    return NULL;
}

static struct str expand(const struct host *host, struct arena *arena, struct str path)
{
    (void)host;
    if (!str_is(path, "~") && !str_starts(path, "~/")) {
        return path;
    }
    return arena_printf(arena, "/home/me%.*s", STR_ARG(str_sub(path, 1, path.len)));
}

static struct host_file look(const struct host *host, struct str path)
{
    const struct fake_file *file = find(host, path);
    if (!file) {
        return (struct host_file){.kind = HOST_MISSING};
    }
    return (struct host_file){
        .kind = file->is_special ? HOST_OTHER
                : file->bytes    ? HOST_FILE
                                 : HOST_FOLDER,
        .mode = file->mode,
        .is_readable = file->mode & 0400,
    };
}

static bool read_pieces(const struct host *host, struct str path, host_bytes_fn *take,
                        void *context, struct err *err)
{
    enum { PIECE = 3 };
    const struct fake_file *file = find(host, path);
    if (!file || !file->bytes) {
        return err_set(err, ERR_NOT_FOUND, "no file %.*s", STR_ARG(path));
    }
    struct str bytes = str_from(file->bytes);
    for (size_t i = 0; i < bytes.len; i += PIECE) {
        take(context, str_sub(bytes, i, i + PIECE));
    }
    return true;
}

static void list(const struct host *host, struct str path, host_entry_fn *take, void *context)
{
    const struct fake_host *fake = (const struct fake_host *)host;
    for (size_t i = fake->count; i-- > 0;) {
        const struct fake_file *file = &fake->files[i];
        struct str name = str_from(file->path);
        if (name.len <= path.len + 1 || !str_eq(str_sub(name, 0, path.len), path) ||
            name.ptr[path.len] != '/') {
            continue;
        }
        name = str_sub(name, path.len + 1, name.len);
        if (str_find_char(name, '/') == SIZE_MAX) {
            struct host_entry entry = {name, !file->bytes, file->is_link};
            take(context, &entry);
        }
    }
}

void fake_host_init(struct fake_host *fake, const struct fake_file *files, size_t count)
{
    *fake = (struct fake_host){{expand, look, read_pieces, list}, files, count};
}
