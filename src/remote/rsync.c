/* rsync.c: Ray's rsync options, over our ssh. */
#include "remote/rsync.h"

#include "base/buf.h"
#include "base/shell_quote.h"

/* The first version without CVE-2024-12086 to -12088, which let a server access the client's
 * files. */
enum { SAFE_MAJOR = 3, SAFE_MINOR = 4 };

/* The first with --info. */
enum { PROGRESS_MAJOR = 3, PROGRESS_MINOR = 1 };

/* Quotes a path for the remote shell; a leading "~/" keeps its meaning. */
static struct str rsync_quoted(struct arena *arena, struct str path)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 64 * 1024);
    if (str_starts(path, "~/")) {
        buf_add_c(&out, "~/");
        path = str_sub(path, 2, path.len);
    }
    shell_quote(&out, path);
    return arena_str(arena, buf_str(&out));
}

/* Everything before the last slash, like Python's dirname. */
static struct str rsync_folder_of(struct str path)
{
    while (path.len > 0 && path.ptr[path.len - 1] != '/') {
        path.len--;
    }
    return path.len > 1 ? str_sub(path, 0, path.len - 1) : path;
}

/* In a container the remote shell's "~" would be the home of the machine: rsync runs in the home of
 * the container, and paths are relative to it. */
static struct str rsync_container_path(struct str path)
{
    return str_starts(path, "~/") && path.len > 2 ? str_sub(path, 2, path.len)
           : str_starts(path, "~")                ? STR("./")
                                                  : path;
}

/* The program at the other end. */
static const char *rsync_other_end(const struct rsync_copy *copy, struct arena *arena)
{
    struct str above = rsync_folder_of(copy->there);
    bool makes = copy->makes_parents && !copy->is_down && above.len > 0 && !str_is(above, "~");
    if (!copy->container_program) {
        return makes ? arena_printf(arena, "mkdir -p %.*s && rsync",
                                    STR_ARG(rsync_quoted(arena, above)))
                           .ptr
                     : NULL;
    }
    struct str folder = rsync_quoted(arena, rsync_container_path(above));
    return arena_printf(arena,
                        "%s exec -i %.*s sh -c 'cd && mkdir -p \"$0\" && exec rsync \"$@\"' %.*s",
                        copy->container_program, STR_ARG(rsync_quoted(arena, copy->container)),
                        STR_ARG(makes ? folder : STR(".")))
        .ptr;
}

static const char *remote_name(const struct rsync_copy *copy, struct arena *arena)
{
    struct str address = copy->place->address;
    bool is_ipv6 = str_find_char(address, ':') != SIZE_MAX && !str_starts(address, "[");
    return arena_printf(
               arena, "%.*s@%s%.*s%s:%.*s", STR_ARG(copy->place->user), is_ipv6 ? "[" : "",
               STR_ARG(address), is_ipv6 ? "]" : "",
               STR_ARG(copy->container_program ? rsync_container_path(copy->there) : copy->there))
        .ptr;
}

/* The words for what is left out of a copy; returns the new count. */
static size_t rsync_add_rules(const struct rsync_copy *copy, struct arena *arena,
                              const char **words, size_t count)
{
    for (size_t i = 0; i < copy->exclude_count; i++) {
        words[count++] = "--exclude";
        words[count++] = arena_str(arena, copy->excludes[i]).ptr;
    }
    for (size_t i = 0; i < copy->filter_count; i++) {
        words[count++] = "--filter";
        words[count++] = arena_printf(arena, "dir-merge,- %.*s", STR_ARG(copy->filters[i])).ptr;
    }
    return count;
}

const char *const *rsync_list_argv(const struct rsync_copy *copy, struct arena *arena)
{
    enum { OTHERS = 6 };
    const char **words = ARENA_ARRAY(arena, 2 * (copy->exclude_count + copy->filter_count) + OTHERS,
                                     const char *);
    size_t count = 0;
    words[count++] = "rsync";
    words[count++] = "-a";
    words[count++] = "--list-only";
    count = rsync_add_rules(copy, arena, words, count);
    words[count++] = "--";
    words[count++] = arena_str(arena, copy->here).ptr;
    words[count] = NULL;
    return words;
}

bool rsync_argv(const struct rsync_copy *copy, struct arena *arena, const char *const **ret_argv,
                struct err *err)
{
    enum { OTHERS = 20 };
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
    if (copy->has_progress) { /* one progress line for all files */
        words[count++] = "--info=progress2,name0,flist0,stats0";
    }
    if (copy->is_down) {
        /* A node must not be able to create devices or links that lead out of the target. */
        words[count++] = "--safe-links";
        words[count++] = "--no-devices";
        words[count++] = "--no-specials";
    }
    if (copy->container_program && !copy->is_down) { /* its user may be root */
        words[count++] = "--no-owner";
        words[count++] = "--no-group";
    }
    const char *other_end = rsync_other_end(copy, arena);
    if (other_end) {
        words[count++] = "--rsync-path";
        words[count++] = other_end;
    }
    count = rsync_add_rules(copy, arena, words, count);
    const char *here = arena_str(arena, copy->here).ptr;
    const char *there = remote_name(copy, arena);
    words[count++] = "--";
    words[count++] = copy->is_down ? there : here;
    words[count++] = copy->is_down ? here : there;
    words[count] = NULL;
    *ret_argv = words;
    return true;
}

static int64_t rsync_cut_number(struct str *rest)
{
    int64_t number = 0;
    return str_to_i64(str_cut(rest, '.'), &number) ? number : 0;
}

/* Of "rsync  version 3.2.7  protocol version 31"; false: another program. */
static bool read_version(struct str said, struct str *ret_version, int64_t *ret_major,
                         int64_t *ret_minor)
{
    static const char before[] = "rsync  version ";
    struct str line = str_cut(&said, '\n');
    if (!str_starts(line, before)) {
        return false;
    }
    struct str rest = str_sub(line, sizeof(before) - 1, line.len);
    struct str version = str_cut(&rest, ' ');
    *ret_version = version;
    *ret_major = rsync_cut_number(&version);
    *ret_minor = rsync_cut_number(&version);
    return *ret_major > 0;
}

bool rsync_is_old(struct str said, struct str *ret_version)
{
    int64_t major;
    int64_t minor;
    return read_version(said, ret_version, &major, &minor) &&
           (major < SAFE_MAJOR || (major == SAFE_MAJOR && minor < SAFE_MINOR));
}

bool rsync_has_progress(struct str said)
{
    struct str version;
    int64_t major;
    int64_t minor;
    return read_version(said, &version, &major, &minor) &&
           (major > PROGRESS_MAJOR || (major == PROGRESS_MAJOR && minor >= PROGRESS_MINOR));
}
