/* contact_probe.c: the script of the dead-man switch.
 *
 * usage: contact_probe head|worker|host|gce TIMEOUT_MS */
#include "app/contact.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct arena arena;
    int64_t timeout_ms;
    if (argc != 3 || !str_to_i64(str_from(argv[2]), &timeout_ms)) {
        fputs("usage: contact_probe head|worker|host|gce TIMEOUT_MS\n", stderr);
        return 2;
    }
    arena_init(&arena);
    struct str text = strcmp(argv[1], "host") == 0 ? contact_watch(timeout_ms, &arena)
                      : strcmp(argv[1], "gce") == 0
                          ? contact_gce_hook(timeout_ms, false, &arena)
                          : contact_hook(timeout_ms, strcmp(argv[1], "head") == 0, &arena);
    fwrite(text.ptr, 1, text.len, stdout);
    arena_clear(&arena);
    return 0;
}
