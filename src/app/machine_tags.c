/* machine_tags.c: tags, read. */
#include "app/machine_tags.h"

struct str machine_tag_value(const struct machine *machine, const char *key)
{
    for (size_t i = 0; machine && i < machine->tag_count; i++) {
        if (str_is(machine->tags[i].key, key)) {
            return machine->tags[i].value;
        }
    }
    return STR("");
}

bool machine_is_head(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-type"), "head");
}
