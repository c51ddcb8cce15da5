/* autofill_gce.c: Ray requires `resources` on gcp; we know them from the machine type's name. */
#include "config/prepare/autofill_gce.h"

#include "config/catalog/gce_machine.h"
#include "config/prepare/autofill.h"

static bool autofill_gce_is_open(const struct value *type)
{
    return value_is(type, VALUE_MAP) && !value_get_c(type, "resources") &&
           value_path(type, "node_config.machineType");
}

void autofill_gce_report(struct arena *arena, struct diag_list *diags, enum diag_level level,
                         const struct value *name)
{
    struct str best = diag_is_crowded(diags, DIAG_ERROR) ? STR("")
                                                         : gce_machine_nearest(arena, name->text);
    if (best.len > 0) {
        struct diag *diag = diag_error(diags, "unknown-machine", name->place,
                                       "Compute Engine has no machine type \"%.*s\"",
                                       STR_ARG(name->text));
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    } else {
        struct diag *diag = diag_add(diags, level, "unknown-machine", name->place,
                                     "Shoal does not know the resources of machine type %.*s",
                                     STR_ARG(name->text));
        diag_hint(diags, diag, "set the node type's resources: {CPU: ..., GPU: ...}");
    }
}

/* True if every node type without resources has a machine that we know. */
static bool autofill_gce_knows_all(struct arena *arena, const struct value *types,
                                   struct diag_list *diags)
{
    bool knows_all = true;
    for (size_t i = 0; i < types->map.count; i++) {
        struct value *type = types->map.entries[i].value;
        const struct value *node = value_get_c(type, "node_config");
        const struct value *name = value_get_c(node, "machineType");
        struct machine_type machine;
        if (!autofill_gce_is_open(type) || gce_machine_of(arena, node, &machine)) {
            continue;
        }
        knows_all = false;
        if (name->kind == VALUE_STRING) {
            autofill_gce_report(arena, diags, DIAG_ERROR, name);
        } else {
            diag_error(diags, "wrong-type", name->place, "machineType must be text, not %s",
                       value_kind_text(name));
        }
    }
    return knows_all;
}

void autofill_gce(struct arena *arena, const struct value *config, const struct value *types,
                  struct diag_list *diags)
{
    const struct value *head = value_get_c(config, "head_node_type");
    bool knows_all = autofill_gce_knows_all(arena, types, diags);
    for (size_t i = 0; i < types->map.count; i++) {
        const struct value_entry *type = &types->map.entries[i];
        struct machine_type machine;
        if (!autofill_gce_is_open(type->value)) {
            continue;
        }
        /* The unknown machine was reported; missing resources would be a second error for it. */
        struct value *resources = value_new(arena, VALUE_MAP, type->value->place);
        if (knows_all && gce_machine_of(arena, value_get_c(type->value, "node_config"), &machine)) {
            resources = autofill_detect(arena, &machine, head && value_equal(type->key, head));
            resources->place = type->value->place;
        }
        value_map_set_c(arena, type->value, "resources", resources);
    }
}
