/* workload.c: the labels that identify gangs. */
#include "sim/workload.h"

void workload_label_gangs(struct workload *workload, struct names *names, struct arena *arena)
{
    bool has_strict = false;
    for (size_t i = 0; i < workload->class_count; i++) {
        has_strict = has_strict || gang_is_strict(workload->classes[i].gang);
    }
    size_t count = has_strict ? GANGS_REPORTED_MOST : 0;
    struct label *labels = ARENA_ARRAY(arena, count, struct label);
    for (size_t i = 0; i < count; i++) {
        labels[i].key = intern_add(names, arena_printf(arena, "_PG_%zu", i));
        labels[i].value = intern_add(names, STR(""));
    }
    workload->gang_labels = labels;
    workload->gang_label_count = count;
}
