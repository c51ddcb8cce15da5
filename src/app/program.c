/* program.c: the path of this program, and replacing it by another one. */
#include "app/program.h"

#include "io/os.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool program_path(struct arena *arena, struct str *ret_path, struct err *err)
{
    char path[PATH_MAX];
    if (!os_program_path(path, sizeof(path))) {
        return err_set(err, ERR_IO, "cannot find the path of this program: %s", strerror(errno));
    }
    *ret_path = arena_str(arena, str_from(path));
    return true;
}

/* execv() does not modify argv; its prototype predates const. */
void program_become(const char *const *argv)
{
    union {
        const char *const *given;
        char *const *wanted;
    } words = {.given = argv};
    execv(argv[0], words.wanted);
}
