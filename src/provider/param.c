/* param.c: builds and searches parameter trees. */
#include "provider/param.h"

static struct param *param_add(struct param *parent, enum param_kind kind, const char *name,
                               struct arena *arena)
{
    struct param *param = ARENA_NEW(arena, struct param);
    param->kind = kind;
    param->name = arena_str(arena, str_from(name));
    if (parent && parent->last) {
        parent->last->next = param;
    } else if (parent) {
        parent->first = param;
    }
    if (parent) {
        parent->last = param;
    }
    return param;
}

struct param *param_new_map(struct arena *arena)
{
    return param_add(NULL, PARAM_MAP, "", arena);
}

struct param *param_add_text(struct param *parent, const char *name, struct str text,
                             struct arena *arena)
{
    struct param *param = param_add(parent, PARAM_TEXT, name, arena);
    param->text = text;
    return param;
}

struct param *param_add_number(struct param *parent, const char *name, int64_t number,
                               struct arena *arena)
{
    struct param *param = param_add(parent, PARAM_NUMBER, name, arena);
    param->number = number;
    return param;
}

struct param *param_add_bool(struct param *parent, const char *name, bool boolean,
                             struct arena *arena)
{
    struct param *param = param_add(parent, PARAM_BOOL, name, arena);
    param->boolean = boolean;
    return param;
}

struct param *param_add_list(struct param *parent, const char *name, struct arena *arena)
{
    return param_add(parent, PARAM_LIST, name, arena);
}

struct param *param_add_map(struct param *parent, const char *name, struct arena *arena)
{
    return param_add(parent, PARAM_MAP, name, arena);
}

struct param *param_find(const struct param *map, const char *name)
{
    struct param *child = map->first;
    while (child && !str_is(child->name, name)) {
        child = child->next;
    }
    return child;
}

const struct param *param_get(const struct param *map, enum param_kind kind, const char *name)
{
    const struct param *found = map ? param_find(map, name) : NULL;
    return found && found->kind == kind ? found : NULL;
}

struct str param_text(const struct param *map, const char *name)
{
    const struct param *found = param_get(map, PARAM_TEXT, name);
    return found ? found->text : STR("");
}

struct param *param_add_filter(struct param *list, const char *name, const struct str *values,
                               size_t count, struct arena *arena)
{
    struct param *filter = param_add_map(list, "", arena);
    param_add_text(filter, "Name", str_from(name), arena);
    struct param *list_of_values = param_add_list(filter, "Values", arena);
    for (size_t i = 0; i < count; i++) {
        param_add_text(list_of_values, "", values[i], arena);
    }
    return filter;
}

struct param *param_add_tag(struct param *list, struct str key, struct str value,
                            struct arena *arena)
{
    struct param *tag = param_add_map(list, "", arena);
    param_add_text(tag, "Key", key, arena);
    param_add_text(tag, "Value", value, arena);
    return tag;
}

void param_add_tags(struct param *list, const struct param *map, struct arena *arena)
{
    for (const struct param *child = map ? map->first : NULL; child; child = child->next) {
        if (child->kind == PARAM_TEXT) {
            param_add_tag(list, child->name, child->text, arena);
        }
    }
}
