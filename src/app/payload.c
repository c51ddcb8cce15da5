/* payload.c: finds the payload of an architecture. */
#include "app/payload.h"

#include "app/program.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* "x86_64" or "aarch64", as in the file names; NULL for an unsupported machine. */
static const char *architecture(struct str machine)
{
    static const struct {
        const char *spelling, *name;
    } table[] = {
        {"x86_64", "x86_64"},
        {"amd64", "x86_64"},
        {"aarch64", "aarch64"},
        {"arm64", "aarch64"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_is(machine, table[i].spelling)) {
            return table[i].name;
        }
    }
    return NULL;
}

/* The path without its last part: "/bin" for "/bin/shoal", empty for "/shoal". */
static struct str parent(struct str path)
{
    size_t end = path.len;
    while (end > 0 && path.ptr[end - 1] != '/') {
        end--;
    }
    return str_sub(path, 0, end > 0 ? end - 1 : 0);
}

bool payload_places_find(struct arena *arena, struct payload_places *ret_places, struct err *err)
{
    struct payload_places found = {0};
    struct utsname here;
    const char *given = getenv("SHOAL_PAYLOADS");
    if (!program_path(arena, &found.program, err)) {
        return false;
    }
    if (given && *given) {
        found.instead_from = arena_str(arena, str_from(given));
    }
    if (uname(&here) == 0 && program_is_static(found.program.ptr)) {
        found.own_machine = arena_str(arena, str_from(here.machine));
    }
    *ret_places = found;
    return true;
}

static bool is_own(const struct payload_places *places, const char *name)
{
    const char *own = architecture(places->own_machine);
    return own && strcmp(own, name) == 0;
}

static bool payload_fail(const struct payload_places *places, const char *name, struct str path,
                         struct err *err)
{
    bool is_given = places->instead_from.len > 0;
    return err_set(err, ERR_NOT_FOUND,
                   "the shoal program for %s machines is missing: %.*s\n"
                   "  %s",
                   name, STR_ARG(path),
                   is_given ? "SHOAL_PAYLOADS is set to this folder; build the programs with "
                              "`packaging/static build`"
                            : "install the release package (build it with `packaging/static "
                              "package`), or set SHOAL_PAYLOADS to a folder that contains this "
                              "file");
}

bool payload_find(struct arena *arena, const struct payload_places *places, struct str machine,
                  struct str *ret_path, struct err *err)
{
    const char *name = architecture(machine);
    if (!name) {
        return err_set(err, ERR_NOT_FOUND,
                       "shoal runs on x86_64 and aarch64 (arm64) machines, not on \"%.*s\"",
                       STR_ARG(machine));
    }
    struct str folder = places->instead_from;
    if (folder.len == 0) {
        folder = arena_printf(arena, "%.*s/libexec/shoal/payload",
                              STR_ARG(parent(parent(places->program))));
    }
    struct str path = arena_printf(arena, "%.*s/shoal-%s", STR_ARG(folder), name);
    struct file_status status = file_stat(path.ptr);
    if (status.kind == FILE_REGULAR && status.is_readable) {
        *ret_path = path;
        return true;
    }
    if (places->instead_from.len == 0 && is_own(places, name)) {
        *ret_path = places->program;
        return true;
    }
    return payload_fail(places, name, path, err);
}

bool payload_find_here(struct arena *arena, struct str machine, struct str *ret_path,
                       struct err *err)
{
    struct payload_places places;
    return payload_places_find(arena, &places, err) &&
           payload_find(arena, &places, machine, ret_path, err);
}
