/* up_failure.c: reads and writes one small file: "MILLISECONDS WHY". */
#include "app/launch/up_failure.h"

#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = UP_FAILURE_BYTES_MAX + 32 };

static const char *up_failure_path_of(const struct cluster_state *state, struct arena *arena)
{
    return arena_printf(arena, "%s/last-failure", state->folder).ptr;
}

bool up_failure_write(const struct cluster_state *state, const struct up_failure *failure,
                      struct err *err)
{
    enum { PRIVATE = 0600 };
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str text = arena_printf(&arena, "%lld %.*s", (long long)failure->wall_ms,
                                   STR_ARG(str_sub(failure->why, 0, UP_FAILURE_BYTES_MAX)));
    return file_write(up_failure_path_of(state, &arena), text, PRIVATE, err);
}

bool up_failure_remove(const struct cluster_state *state, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const char *path = up_failure_path_of(state, &arena);
    return unlink(path) == 0 || errno == ENOENT ||
           err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
}

bool up_failure_read(const struct cluster_state *state, struct arena *arena,
                     struct up_failure *ret_failure, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    *ret_failure = (struct up_failure){0};
    if (!file_read(up_failure_path_of(state, arena), &text, err)) {
        return err->kind == ERR_NOT_FOUND;
    }
    struct str rest = arena_str(arena, buf_str(&text));
    struct str number = str_cut(&rest, ' ');
    if (!str_to_i64(number, &ret_failure->wall_ms)) {
        return err_set(err, ERR_IO, "%s does not start with a time",
                       up_failure_path_of(state, arena));
    }
    ret_failure->why = rest;
    return true;
}
