/* program.c: Linux links /proc/self/exe to it. */
#include "app/program.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool program_path(struct arena *arena, struct str *ret_path, struct err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
    if (len < 0 || (size_t)len == sizeof(path)) {
        return err_set(err, ERR_IO, "cannot tell where this program lies: /proc/self/exe: %s",
                       len < 0 ? strerror(errno) : "too long");
    }
    *ret_path = arena_str(arena, (struct str){path, (size_t)len});
    return true;
}
