/* machine_tags.c: reads the tags and the state of machines. */
#include "provider/machine_tags.h"

struct str machine_tag_value(const struct machine *machine, const char *key)
{
    for (size_t i = 0; machine && i < machine->tag_count; i++) {
        if (str_is(machine->tags[i].key, key)) {
            return machine->tags[i].value;
        }
    }
    return STR("");
}

bool machine_is_live(const struct machine *machine)
{
    return machine->state != MACHINE_GONE && machine->state != MACHINE_ENDING;
}

bool machine_is_head(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-type"), "head");
}

static bool machine_tags_is_set_up(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-status"), "up-to-date");
}

const struct machine *machine_head_among(const struct machine *machines, size_t count)
{
    const struct machine *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct machine *machine = &machines[i];
        if (!machine_is_head(machine) || machine->state >= MACHINE_STOPPING) {
            continue;
        }
        bool is_better = !best || (machine_tags_is_set_up(machine) != machine_tags_is_set_up(best)
                                       ? machine_tags_is_set_up(machine)
                                       : machine->launched_at > best->launched_at);
        best = is_better ? machine : best;
    }
    return best;
}
