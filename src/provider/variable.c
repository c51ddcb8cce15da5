/* variable.c: the first match wins, as in getenv(). */
#include "provider/variable.h"

#include <stddef.h>
#include <string.h>

const char *variable_get(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
            return *env + len + 1;
        }
    }
    return NULL;
}
