/* rsync.c: Ray's options of rsync, over our ssh. */
#include "remote/rsync.h"

#include "base/buf.h"

/* For the shell there: quoted, but a "~/" in front keeps its meaning. */
static struct str quoted(struct arena *arena, struct str path)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 64 * 1024);
    if (str_starts(path, "~/")) {
        buf_add_c(&out, "~/");
        path = str_sub(path, 2, path.len);
    }
    buf_add_char(&out, '\'');
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '\'') {
            buf_add_c(&out, "'\\''");
        } else {
            buf_add_char(&out, path.ptr[i]);
        }
    }
    buf_add_char(&out, '\'');
    return arena_str(arena, buf_str(&out));
}

/* All before the last slash, as Python's dirname. */
static struct str folder_of(struct str path)
{
    while (path.len > 0 && path.ptr[path.len - 1] != '/') {
        path.len--;
    }
    return path.len > 1 ? str_sub(path, 0, path.len - 1) : path;
}

static const char *remote_name(const struct rsync_copy *copy, struct arena *arena)
{
    struct str address = copy->place->address;
    bool is_ipv6 = str_find_char(address, ':') != SIZE_MAX && !str_starts(address, "[");
    return arena_printf(arena, "%.*s@%s%.*s%s:%.*s", STR_ARG(copy->place->user), is_ipv6 ? "[" : "",
                        STR_ARG(address), is_ipv6 ? "]" : "", STR_ARG(copy->there))
        .ptr;
}

bool rsync_words(const struct rsync_copy *copy, struct arena *arena, const char *const **ret_argv,
                 struct err *err)
{
    enum { OTHERS = 12 };
    struct str ssh;
    size_t count = 0;
    const char **words = ARENA_ARRAY(arena, 2 * (copy->exclude_count + copy->filter_count) + OTHERS,
                                     const char *);
    if (!ssh_for_rsync(copy->place, arena, &ssh, err)) {
        return false;
    }
    words[count++] = "rsync";
    words[count++] = "--rsh";
    words[count++] = ssh.ptr;
    words[count++] = "-avz";
    struct str above = folder_of(copy->there);
    if (copy->makes_parents && !copy->is_down && above.len > 0 && !str_is(above, "~")) {
        words[count++] = "--rsync-path";
        words[count++] =
            arena_printf(arena, "mkdir -p %.*s && rsync", STR_ARG(quoted(arena, above))).ptr;
    }
    for (size_t i = 0; i < copy->exclude_count; i++) {
        words[count++] = "--exclude";
        words[count++] = arena_str(arena, copy->excludes[i]).ptr;
    }
    for (size_t i = 0; i < copy->filter_count; i++) {
        words[count++] = "--filter";
        words[count++] = arena_printf(arena, "dir-merge,- %.*s", STR_ARG(copy->filters[i])).ptr;
    }
    const char *here = arena_str(arena, copy->here).ptr;
    const char *there = remote_name(copy, arena);
    words[count++] = "--";
    words[count++] = copy->is_down ? there : here;
    words[count++] = copy->is_down ? here : there;
    words[count] = NULL;
    *ret_argv = words;
    return true;
}
