/* secret.c: masks secrets in a tree by key; secret_text.c finds them inside text. */
#include "config/secret.h"

static struct value *mask(struct arena *arena, const struct value *value, bool is_secret);

static struct value *mask_map(struct arena *arena, const struct value *map, bool is_secret)
{
    struct value *copy = value_copy_shallow(arena, map);
    for (size_t i = 0; i < copy->map.count; i++) {
        struct value_entry *entry = &copy->map.entries[i];
        bool is_named = secret_is_name(value_text(entry->key));
        /* A map that contains a secret is not masked itself: gcp_credentials has a harmless
         * type. */
        bool is_holder = entry->value->kind == VALUE_MAP && value_get_c(entry->value, "type");
        entry->value = mask(arena, entry->value, is_secret || (is_named && !is_holder));
    }
    return copy;
}

static struct value *mask_list(struct arena *arena, const struct value *list, bool is_secret)
{
    struct value *copy = value_copy_shallow(arena, list);
    for (size_t i = 0; i < copy->list.count; i++) {
        copy->list.items[i] = mask(arena, copy->list.items[i], is_secret);
    }
    return copy;
}

static struct value *mask(struct arena *arena, const struct value *value, bool is_secret)
{
    if (value->kind == VALUE_MAP) {
        return mask_map(arena, value, is_secret);
    }
    if (value->kind == VALUE_LIST) {
        return mask_list(arena, value, is_secret);
    }
    struct value *copy = value_copy_shallow(arena, value);
    if (is_secret && value->kind != VALUE_NULL && value->kind != VALUE_BOOL) {
        copy->kind = VALUE_STRING;
        copy->text = STR(SECRET_MASK);
    } else if (value->kind == VALUE_STRING) {
        copy->text = secret_mask_text(arena, value->text);
    }
    return copy;
}

struct value *secret_mask(struct arena *arena, const struct value *config)
{
    return mask(arena, config, false);
}
