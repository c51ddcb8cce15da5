/* token.c: creates the token once, whichever process is first. */
#include "ray/token.h"

#include "base/arena.h"
#include "base/encode.h"
#include "base/memzero.h"
#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32 }; /* same length as Ray's own */

/* Writes a temporary file, then links it to its name. If another process was faster, its token is
 * kept. */
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
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    if (file_stat(path).kind != FILE_MISSING) {
        return true;
    }
    if (getentropy(bytes, sizeof(bytes)) != 0) {
        return err_set(err, ERR_IO, "cannot read random bytes from the system");
    }
    struct str folder = arena_str(&arena, str_from(path));
    char *slash = strrchr(folder.ptr, '/');
    if (slash) { /* Ray's folder: default permissions are fine, since the file has its own */
        *slash = '\0';
        mkdir(folder.ptr, 0755);
    }
    encode_hex_to(hex, bytes, sizeof(bytes));
    bool ok = put_token(path, str_from(hex), &arena, err);
    memzero(bytes, sizeof(bytes));
    memzero(hex, sizeof(hex));
    return ok;
}

bool ray_token_read(const char *path, struct buf *out, struct err *err)
{
    struct buf text;
    if (file_stat(path).kind == FILE_MISSING) {
        return err_set(err, ERR_NOT_FOUND, "%s does not exist yet", path);
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
