/* fake_host.c: whether a path is there, what it is and what it holds follow from its bytes. */
#include "fake_host.h"

#include <string.h>

/* Paths longer than this hold no folders, so that every walk ends. */
enum { FOLDER_PATH_MAX = 40, SAMPLE_BYTES = 64 };

/* The ends of a path are enough to tell paths apart, however long they are. */
static uint64_t rng(struct str path)
{
    struct str head = str_sub(path, 0, SAMPLE_BYTES);
    size_t tail = path.len > SAMPLE_BYTES ? path.len - SAMPLE_BYTES : 0;
    return str_hash(head) ^ str_hash(str_sub(path, tail, path.len)) * 3 ^ path.len;
}

static struct str fake_expand(const struct host *host, struct arena *arena, struct str path)
{
    (void)host;
    if (!str_is(path, "~") && !str_starts(path, "~/")) {
        return path;
    }
    return arena_printf(arena, "/home/me%.*s", STR_ARG(str_sub(path, 1, path.len)));
}

static struct host_file fake_look(const struct host *host, struct str path)
{
    static const enum host_file_kind kinds[] = {HOST_FILE,    HOST_FILE,  HOST_FOLDER, HOST_FOLDER,
                                                HOST_MISSING, HOST_OTHER, HOST_FILE,   HOST_FILE};
    static const uint32_t modes[] = {0600, 0644, 0400, 0777};
    uint64_t roll = rng(path);
    (void)host;
    return (struct host_file){.kind = kinds[roll % ARRAY_LEN(kinds)],
                              .mode = modes[(roll >> 8) % ARRAY_LEN(modes)],
                              .is_readable = (roll >> 16) % 4 != 0};
}

static bool fake_read(const struct host *host, struct str path, host_bytes_fn *take, void *context,
                      struct err *err)
{
    struct host_file file = fake_look(host, path);
    if (file.kind != HOST_FILE || !file.is_readable) {
        return err_set(err, ERR_IO, "cannot read \"%.*s\"", STR_ARG(str_sub(path, 0, 100)));
    }
    take(context, str_sub(path, 0, path.len / 2));
    take(context, STR(""));
    take(context, (rng(path) >> 16) % 8 == 0 ? STR("\xFF\r\n") : STR("key\r\n"));
    return true;
}

static void fake_list(const struct host *host, struct str path, host_entry_fn *take, void *context)
{
    static const char *const names[] = {"a", "b.txt", "sub", "\xC3\xA9", "\xFF", "link"};
    uint64_t roll = rng(path);
    (void)host;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        bool is_folder = path.len < FOLDER_PATH_MAX && (roll >> (2 * i + 20) & 1);
        struct host_entry entry = {str_from(names[i]), is_folder, strcmp(names[i], "link") == 0};
        if (roll >> (2 * i + 19) & 1) {
            take(context, &entry);
        }
    }
}

const struct host *fake_host(void)
{
    static const struct host host = {fake_expand, fake_look, fake_read, fake_list};
    return &host;
}
