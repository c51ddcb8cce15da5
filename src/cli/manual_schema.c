/* manual_schema.c: the table of keys as a JSON Schema, for editors. Part of manual_printer only. */
#include "cli/json_object.h"
#include "cli/manual.h"
#include "config/document/json_write.h"
#include "config/schema/schema.h"

#include <string.h>

enum { DESCRIPTION_BYTES_MAX = 4096 };

static const struct place nowhere = {0};

static struct value *schema_of_object(struct arena *arena, const struct schema_object *object);

static void add_item(struct arena *arena, struct value *list, const char *text)
{
    value_list_add(arena, list, value_string(arena, str_from(text), nowhere));
}

/* "type": one name, or a list of names. Nothing for any type. */
static void add_types(struct arena *arena, struct value *schema, unsigned types)
{
    AUTO_BUF struct buf names;
    buf_init(&names, DESCRIPTION_BYTES_MAX);
    if (types == 0 || (types & SCHEMA_ANY)) {
        return;
    }
    schema_type_names(&names, types);
    struct str rest = arena_str(arena, buf_str(&names));
    struct value *list = record_list(arena);
    while (rest.len > 0) {
        value_list_add(arena, list, value_string(arena, str_cut(&rest, '|'), nowhere));
    }
    value_map_set_c(arena, schema, "type", list->list.count == 1 ? list->list.items[0] : list);
}

static void add_description(struct arena *arena, struct value *schema, const struct schema_key *key)
{
    AUTO_BUF struct buf text;
    buf_init(&text, DESCRIPTION_BYTES_MAX);
    buf_add_c(&text, key->help);
    if (key->fallback) {
        buf_addf(&text, " Default: %s.", key->fallback);
    }
    if (key->readers) {
        buf_add_c(&text, " Read by: ");
        schema_provider_names(&text, key->readers);
        buf_add_c(&text, ".");
    }
    record_text(arena, schema, "description", arena_str(arena, buf_str(&text)));
}

static struct value *schema_of_key(struct arena *arena, const struct schema_key *key)
{
    bool is_object = (key->types & SCHEMA_OBJECT) != 0; /* otherwise `object` is for the items */
    struct value *schema = key->object && is_object ? schema_of_object(arena, key->object)
                                                    : record_new(arena);
    add_types(arena, schema, key->types);
    add_description(arena, schema, key);
    if ((key->types & SCHEMA_ARRAY) && (key->object || key->item_types)) {
        struct value *items = key->object ? schema_of_object(arena, key->object)
                                          : record_new(arena);
        add_types(arena, items, key->item_types);
        value_map_set_c(arena, schema, "items", items);
    }
    if (key->choices) {
        struct value *choices = record_list(arena);
        for (size_t i = 0; key->choices[i]; i++) {
            add_item(arena, choices, key->choices[i]);
        }
        value_map_set_c(arena, schema, "enum", choices);
    }
    if (key->flags & SCHEMA_NOT_NEGATIVE) {
        record_int(arena, schema, "minimum", 0);
    }
    return schema;
}

static struct value *schema_of_object(struct arena *arena, const struct schema_object *object)
{
    struct value *schema = record_new(arena);
    struct value *properties = record_new(arena);
    struct value *required = record_list(arena);
    struct value *any = NULL;
    value_map_set_c(arena, schema, "type", value_string(arena, STR("object"), nowhere));
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        if (strcmp(key->name, "*") == 0) {
            any = schema_of_key(arena, key);
            continue;
        }
        value_map_set_c(arena, properties, key->name, schema_of_key(arena, key));
        if ((key->flags & SCHEMA_REQUIRED) && !key->fallback) { /* defaults are filled in first */
            add_item(arena, required, key->name);
        }
    }
    value_map_set_c(arena, schema, "properties", properties);
    if (required->list.count > 0) {
        value_map_set_c(arena, schema, "required", required);
    }
    if (any) {
        value_map_set_c(arena, schema, "additionalProperties", any);
    } else if (object->extra == SCHEMA_EXTRA_ERROR) {
        record_flag(arena, schema, "additionalProperties", false);
    }
    return schema;
}

/* Keys of old Ray releases, which are converted before the table is used (config/prepare). */
static void add_legacy_keys(struct arena *arena, struct value *properties)
{
    static const char *const names[] = {"head_node",        "worker_nodes",
                                        "min_workers",      "initial_workers",
                                        "autoscaling_mode", "target_utilization_fraction"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct value *schema = record_new(arena);
        record_text(arena, schema, "description", STR("A key of old Ray releases."));
        record_flag(arena, schema, "deprecated", true);
        value_map_set_c(arena, properties, names[i], schema);
    }
}

static void manual_schema(struct buf *out, const char *title, const struct schema_object *object)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    struct value *schema = record_new(&arena);
    record_text(&arena, schema, "$schema", STR("http://json-schema.org/draft-07/schema#"));
    record_text(&arena, schema, "title", str_from(title));
    value_map_update(&arena, schema, schema_of_object(&arena, object));
    if (object == &schema_root) {
        add_legacy_keys(&arena, value_get_c(schema, "properties"));
    }
    if (json_write(out, schema, JSON_PRETTY, &err)) {
        buf_add_char(out, '\n');
    }
}

void manual_cluster_file_schema(struct buf *out)
{
    manual_schema(out, "Cluster file of Ray and Shoal", &schema_root);
}

void manual_workload_file_schema(struct buf *out)
{
    manual_schema(out, "Workload file of shoal simulate", &schema_workload);
}
