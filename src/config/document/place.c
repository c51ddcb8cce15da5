/* place.c: finding a line again. */
#include "config/document/place.h"

struct str source_line(const struct source *source, uint32_t line)
{
    struct str rest = source->text;
    struct str found = STR("");
    for (uint32_t i = 0; i < line; i++) {
        if (rest.len == 0) {
            return STR("");
        }
        found = str_cut(&rest, '\n');
    }
    if (found.len > 0 && found.ptr[found.len - 1] == '\r') {
        found.len--;
    }
    return found;
}

bool place_is_users(struct place place)
{
    return place.source && place.line > 0 && !place.source->is_built_in;
}
