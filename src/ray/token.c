/* token.c: made once, by whoever comes first. */
#include "ray/token.h"

#include "base/arena.h"
#include "base/encode.h"
#include "base/wipe.h"
#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32 }; /* as many as Ray itself takes */

/* Written whole beside its place, then given its name, which fails when another was faster. */
static bool put_token(const char *path, struct str token, struct arena *arena, struct err *err)
{
    const char *draft = arena_printf(arena, "%s.%ld", path, (long)getpid()).ptr;
    bool ok = file_write(draft, token, 0600, err);
    if (ok && link(draft, path) != 0 && errno != EEXIST) {
        ok = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    unlink(draft);
    return ok;
}

bool ray_token_make(const char *path, struct err *err)
{
    uint8_t bytes[TOKEN_BYTES];
    char hex[2 * TOKEN_BYTES + 1];
    struct arena arena;
    if (file_look(path).kind != FILE_MISSING) {
        return true;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return err_set(err, ERR_IO, "this machine gives no random bytes");
    }
    arena_init(&arena);
    struct str folder = arena_str(&arena, str_from(path));
    char *slash = strrchr(folder.ptr, '/');
    if (slash) { /* Ray's own folder: usual permissions are fine, the file has its own */
        *slash = '\0';
        mkdir(folder.ptr, 0755);
    }
    encode_hex_to(hex, bytes, sizeof(bytes));
    bool ok = put_token(path, str_from(hex), &arena, err);
    wipe(bytes, sizeof(bytes));
    wipe(hex, sizeof(hex));
    arena_clear(&arena);
    return ok;
}

bool ray_token_read(const char *path, struct buf *out, struct err *err)
{
    struct buf text;
    if (file_look(path).kind == FILE_MISSING) {
        return err_set(err, ERR_NOT_FOUND, "%s is not there yet", path);
    }
    buf_init(&text, RAY_TOKEN_BYTES_MAX);
    bool ok = file_read(path, &text, err);
    struct str token = str_trim(buf_str(&text));
    if (ok && token.len == 0) {
        ok = err_set(err, ERR_NOT_FOUND, "%s is empty", path);
    }
    if (ok) {
        buf_add(out, token);
    }
    buf_wipe(&text);
    return ok;
}
