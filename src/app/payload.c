/* payload.c: one name per architecture, one place per package. */
#include "app/payload.h"

#include "app/program.h"
#include "io/file.h"

#include <stdlib.h>

/* "x86_64" or "aarch64", as in the names of the files; NULL for a machine we do not build for. */
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

/* The path without its last part; "/bin/shoal" gives "/bin", "/shoal" the empty text. */
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
    const char *given = getenv("SHOAL_PAYLOADS");
    if (!program_path(arena, &found.program, err)) {
        return false;
    }
    if (given && *given) {
        found.instead_from = arena_str(arena, str_from(given));
    }
    *ret_places = found;
    return true;
}

bool payload_find(struct arena *arena, const struct payload_places *places, struct str machine,
                  struct str *ret_path, struct err *err)
{
    const char *name = architecture(machine);
    if (!name) {
        return err_set(err, ERR_NOT_FOUND,
                       "there is no shoal for machines of type \"%.*s\", only for x86_64 and "
                       "aarch64 (arm64)",
                       STR_ARG(machine));
    }
    bool is_given = places->instead_from.len > 0;
    struct str folder = places->instead_from;
    if (!is_given) {
        folder = arena_printf(arena, "%.*s/libexec/shoal/payload",
                              STR_ARG(parent(parent(places->program))));
    }
    struct str path = arena_printf(arena, "%.*s/shoal-%s", STR_ARG(folder), name);
    struct file_status status = file_look(path.ptr);
    if (status.kind != FILE_REGULAR || !status.is_readable) {
        return err_set(err, ERR_NOT_FOUND,
                       "the shoal for %s machines is missing: no readable file %.*s\n"
                       "  %s",
                       name, STR_ARG(path),
                       is_given ? "the folder comes from SHOAL_PAYLOADS"
                                : "install the release package, or name a folder of payloads in "
                                  "SHOAL_PAYLOADS");
    }
    *ret_path = path;
    return true;
}
