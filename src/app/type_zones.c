/* type_zones.c: writes and reads the list of zones. */
#include "app/type_zones.h"

#include "base/buf.h"

enum { TEXT_BYTES_MAX = 1 << 20, ZONES_MAX = 32 };

/* A name that would break the format is omitted: its type uses the zones of the file. */
static bool type_zones_fits(struct str name)
{
    return str_find_char(name, '\t') == SIZE_MAX && str_find_char(name, '\n') == SIZE_MAX;
}

struct str type_zones_ask(struct provider *provider, const struct config *config,
                          struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str zones[ZONES_MAX];
        size_t count = provider->ops->zones(provider, i, zones, ZONES_MAX);
        if (count == 0 || !type_zones_fits(config->node_types[i].name)) {
            continue;
        }
        buf_addf(&text, "%.*s\t", STR_ARG(config->node_types[i].name));
        for (size_t j = 0; j < count; j++) {
            buf_addf(&text, "%s%.*s", j == 0 ? "" : " ", STR_ARG(zones[j]));
        }
        buf_add_char(&text, '\n');
    }
    return arena_str(arena, buf_str(&text));
}

struct str type_zones_find(struct str text, struct str type)
{
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        if (str_eq(str_cut(&line, '\t'), type)) {
            return line;
        }
    }
    return STR("");
}
