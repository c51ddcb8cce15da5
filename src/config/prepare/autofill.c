/* autofill.c: Ray's fillout_available_node_types_resources for aws. */
#include "config/prepare/autofill.h"

#include "config/prepare/autofill_gce.h"
#include "config/prepare/autofill_tpu.h"

/* The share of a worker's memory that Ray does not reserve for its object store. */
static const double memory_share = 1 - 0.3;

static void set_amount(struct arena *arena, struct value *resources, struct str name,
                       int64_t amount)
{
    struct place nowhere = {0};
    value_map_set(arena, resources, value_string(arena, name, nowhere),
                  value_int(arena, amount, nowhere));
}

struct value *autofill_detect(struct arena *arena, const struct machine_type *machine, bool is_head)
{
    struct value *found = value_new(arena, VALUE_MAP, (struct place){0});
    set_amount(arena, found, STR("CPU"), machine->vcpus);
    if (!is_head) {
        double bytes = (double)machine->memory_mib * 1024 * 1024;
        set_amount(arena, found, STR("memory"), (int64_t)(bytes * memory_share));
    }
    if (machine->gpus > 0) {
        set_amount(arena, found, STR("GPU"), machine->gpus);
        struct str name = arena_printf(arena, "accelerator_type:%.*s", STR_ARG(machine->gpu_name));
        set_amount(arena, found, name, 1);
    }
    if (machine->neuron_cores > 0) {
        set_amount(arena, found, STR("neuron_cores"), machine->neuron_cores);
        set_amount(arena, found, STR("accelerator_type:aws-neuron-core"), 1);
    }
    return found;
}

/* Like Python's dict.update: takes a map or a list of pairs. False where Python would raise. */
static bool autofill_update(struct arena *arena, struct value *map, const struct value *more)
{
    if (!more || (more->kind == VALUE_STRING && more->text.len == 0)) {
        return true;
    }
    if (more->kind == VALUE_MAP) {
        value_map_update(arena, map, more);
        return true;
    }
    for (size_t i = 0; more->kind == VALUE_LIST && i < more->list.count; i++) {
        const struct value *pair = more->list.items[i];
        if (pair->kind != VALUE_LIST || pair->list.count != 2 ||
            pair->list.items[0]->kind != VALUE_STRING) {
            return false;
        }
        value_map_set(arena, map, pair->list.items[0], pair->list.items[1]);
    }
    return more->kind == VALUE_LIST;
}

static bool fill_ec2_type(struct arena *arena, struct value *type, bool is_head)
{
    struct machine_type machine;
    const struct value *written = value_get_c(type, "resources");
    struct str name = value_text(value_path(type, "node_config.InstanceType"));
    if (!catalog_ec2_type(name, &machine)) {
        return false;
    }
    struct value *resources = autofill_detect(arena, &machine, is_head);
    if (!autofill_update(arena, resources, written)) {
        return false;
    }
    if (!written || !value_equal(resources, written)) {
        /* Makes messages about an amount point into the file. */
        resources->place = written ? written->place : type->place;
        value_map_set_c(arena, type, "resources", resources);
    }
    return true;
}

static bool fill_ec2(struct arena *arena, const struct value *config, const struct value *types)
{
    const struct value *head = value_get_c(config, "head_node_type");
    size_t count = types->map.count;
    struct value **before = ARENA_ARRAY(arena, count, struct value *);
    size_t done = 0;
    if (!head || !value_path(config, "provider.region")) {
        return false;
    }
    for (; done < count; done++) {
        const struct value_entry *type = &types->map.entries[done];
        before[done] = value_get_c(type->value, "resources");
        if (!fill_ec2_type(arena, type->value, value_equal(type->key, head))) {
            break;
        }
    }
    if (done == count) {
        return true;
    }
    /* One failed: restores all, newest first, because node types may be aliases of each other. */
    for (size_t i = done; i-- > 0;) {
        struct value *type = types->map.entries[i].value;
        if (before[i]) {
            value_map_set_c(arena, type, "resources", before[i]);
        } else {
            value_map_remove(type, "resources");
        }
    }
    return false;
}

/* The family of "m5.lagre" is "m5", the part before the dot. */
static bool same_family(struct str a, struct str b)
{
    return str_eq(str_cut(&a, '.'), str_cut(&b, '.'));
}

void autofill_report_machine(struct diag_list *diags, enum diag_level level,
                             const struct value *name)
{
    struct str best = diag_is_crowded(diags, DIAG_ERROR) ? STR("")
                                                         : catalog_ec2_nearest(name->text);
    bool is_typo = best.len > 0 &&
                   (str_find_char(name->text, '.') == SIZE_MAX || same_family(name->text, best));
    if (catalog_ec2_has(name->text)) {
        struct diag *diag = diag_add(diags, level, "unknown-machine", name->place,
                                     "Shoal does not know the resources of instance type %.*s",
                                     STR_ARG(name->text));
        diag_hint(diags, diag, "set the node type's resources: {CPU: ..., GPU: ...}");
    } else if (is_typo) {
        struct diag *diag = diag_error(diags, "unknown-machine", name->place,
                                       "EC2 has no instance type \"%.*s\"", STR_ARG(name->text));
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    } else {
        struct diag *diag = diag_add(diags, level, "unknown-machine", name->place,
                                     "instance type \"%.*s\" is not in Shoal's catalog of %.*s",
                                     STR_ARG(name->text), STR_ARG(catalog_ec2_date()));
        diag_hint(diags, diag, "if it exists, set the node type's resources");
    }
}

/*
 * An unknown instance type is why `resources` are missing, in this node type and in others: reports
 * that instead of the missing resources.
 */
static void blame_machines(struct arena *arena, const struct value *types, struct diag_list *diags)
{
    bool is_missing = false;
    size_t unknown = 0;
    for (size_t i = 0; i < types->map.count; i++) {
        const struct value *type = types->map.entries[i].value;
        is_missing = is_missing || (type->kind == VALUE_MAP && !value_get_c(type, "resources"));
    }
    for (size_t i = 0; is_missing && i < types->map.count; i++) {
        struct machine_type machine;
        const struct value *name = value_path(types->map.entries[i].value,
                                              "node_config.InstanceType");
        if (value_is(name, VALUE_STRING) && !catalog_ec2_type(name->text, &machine)) {
            unknown++;
            autofill_report_machine(diags, DIAG_ERROR, name);
        } else if (name && name->kind != VALUE_STRING) {
            unknown++;
            diag_error(diags, "wrong-type", name->place, "InstanceType must be text, not %s",
                       value_kind_text(name));
        }
    }
    for (size_t i = 0; unknown > 0 && i < types->map.count; i++) {
        struct value *type = types->map.entries[i].value;
        if (type->kind == VALUE_MAP && !value_get_c(type, "resources")) {
            value_map_set_c(arena, type, "resources", value_new(arena, VALUE_MAP, type->place));
        }
    }
}

void autofill_resources(struct arena *arena, struct str provider, struct value *config,
                        struct diag_list *diags)
{
    const struct value *types = value_get_c(config, "available_node_types");
    if (!value_is(types, VALUE_MAP)) {
        return;
    }
    if (str_is(provider, "gcp")) {
        autofill_gce(arena, config, types, diags);
        autofill_tpus(arena, types);
    } else if (str_is(provider, "aws") && !fill_ec2(arena, config, types)) {
        blame_machines(arena, types, diags);
    }
}
