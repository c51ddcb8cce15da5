/* paths.c: the folder of the service. */
#include "app/paths.h"

#include "io/file.h"

const char *service_folder(const char *given, struct arena *arena)
{
    struct str folder = given ? str_from(given) : STR(SERVICE_FOLDER);
    return arena_str(arena, file_expand_home(arena, folder)).ptr;
}
