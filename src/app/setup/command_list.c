/* command_list.c: finds the position of each command of a node in the file. */
#include "app/setup/command_list.h"

/* `list` is the value from which the typed commands were read. */
static struct command_list command_list_take(const struct value *list, struct config_texts texts,
                                             struct arena *arena)
{
    struct command_list taken = {ARENA_ARRAY(arena, texts.count, struct command_item), texts.count};
    for (size_t i = 0; i < texts.count; i++) {
        const struct value *value = value_is(list, VALUE_LIST) && i < list->list.count
                                        ? list->list.items[i]
                                        : NULL;
        const struct source *source = value ? value->place.source : NULL;
        taken.items[i].text = texts.items[i];
        taken.items[i].is_default = source && source->is_built_in;
    }
    return taken;
}

static void name_paths(struct command_list *list, struct arena *arena, const char *prefix,
                       struct str type, const char *key)
{
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].path = arena_printf(arena, "%s%.*s%s%s[%zu]", prefix, STR_ARG(type),
                                           type.len > 0 ? "." : "", key, i);
    }
}

/* A worker type's own list replaces the common list. */
static const struct value *own_list(const struct config *config,
                                    const struct config_node_type *type, const char *key)
{
    const struct value *types = value_get_c(config->tree, "available_node_types");
    return type->is_head ? NULL : value_get_c(value_get(types, type->name), key);
}

struct command_list command_list_first(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena)
{
    static const char key[] = "initialization_commands";
    const struct value *own = own_list(config, type, key);
    const struct value *from = own ? own : value_get_c(config->tree, key);
    struct command_list list = command_list_take(from, type->initialization_commands, arena);
    name_paths(&list, arena, own ? "available_node_types." : "", own ? type->name : (struct str){0},
               key);
    return list;
}

/* The joined list begins with the common commands. */
static void name_joined(struct command_list *list, const struct config *config, const char *key,
                        struct arena *arena)
{
    const struct value *common = value_get_c(config->tree, "setup_commands");
    size_t shared = value_is(common, VALUE_LIST) ? common->list.count : 0;
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].path = i < shared ? arena_printf(arena, "setup_commands[%zu]", i)
                                         : arena_printf(arena, "%s[%zu]", key, i - shared);
    }
}

static void drop_defaults(struct command_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].is_default) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

struct command_list command_list_set_up(const struct config *config,
                                        const struct config_node_type *type, struct arena *arena)
{
    const char *key = type->is_head ? "head_setup_commands" : "worker_setup_commands";
    const struct value *own = own_list(config, type, key);
    const struct value *from = own ? own : value_get_c(config->tree, key);
    struct command_list list = command_list_take(from, type->setup_commands, arena);
    if (own) {
        name_paths(&list, arena, "available_node_types.", type->name, key);
    } else {
        name_joined(&list, config, key, arena);
    }
    drop_defaults(&list);
    return list;
}

struct command_list command_list_start(const struct config *config,
                                       const struct config_node_type *type, struct arena *arena)
{
    const char *key = type->is_head ? "head_start_ray_commands" : "worker_start_ray_commands";
    struct command_list list = command_list_take(value_get_c(config->tree, key),
                                                 type->start_commands, arena);
    name_paths(&list, arena, "", (struct str){0}, key);
    return list;
}

const char *command_list_need(const struct command_list *first, const struct command_list *set_up)
{
    static const char *const programs[] = {"pip", "pip3", "docker", "conda", "git", "uv", "python"};
    const struct command_list *list = first->count > 0 ? first : set_up;
    /* `pip x || true` succeeds without pip. */
    if (list->count == 0 || str_find_char(list->items[0].text, '|') != SIZE_MAX ||
        str_find_char(list->items[0].text, ';') != SIZE_MAX ||
        str_find_char(list->items[0].text, '\n') != SIZE_MAX) {
        return NULL;
    }
    struct str rest = str_trim(list->items[0].text);
    struct str word = str_cut(&rest, ' ');
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (str_is(word, programs[i])) {
            return programs[i];
        }
    }
    return NULL;
}
