/* type_zones.c: writes and reads the list of zones. */
#include "app/type_zones.h"

#include "base/buf.h"

enum { TEXT_BYTES_MAX = 1 << 20, ZONES_MAX = 32 };

/* A name that would break the format is omitted: its type uses the zones of the file. */
static bool type_zones_fits(struct str name)
{
    return str_find_char(name, '\t') == SIZE_MAX && str_find_char(name, '\n') == SIZE_MAX;
}

/* One line per type without a name: a tab, the type, a tab and its resources. */
static void add_resources(struct buf *text, struct str type,
                          const struct provider_type_facts *facts)
{
    enum { MEMORY_PERCENT = 60 }; /* Ray leaves the rest to its object store and the system */
    if (facts->cpus > 0 && type_zones_fits(type)) {
        buf_addf(text, "\t%.*s\tCPU %lld memory %lld", STR_ARG(type), (long long)facts->cpus,
                 (long long)(facts->memory / 100 * MEMORY_PERCENT));
        if (facts->gpus > 0) {
            buf_addf(text, " GPU %lld", (long long)facts->gpus);
        }
        buf_add_char(text, '\n');
    }
}

struct str type_zones_ask(struct provider *provider, const struct config *config,
                          struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str zones[ZONES_MAX];
        struct provider_type_facts facts = provider->ops->type_facts(provider, i);
        size_t count = provider->ops->zones(provider, i, zones, ZONES_MAX);
        add_resources(&text, config->node_types[i].name, &facts);
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

struct resource_set type_zones_resources(struct str text, struct str type, struct arena *arena)
{
    enum { RESOURCES_MAX = 8 };
    struct resource *items = ARENA_ARRAY(arena, RESOURCES_MAX, struct resource);
    struct resource_set found = {items, 0};
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        bool is_it = str_starts(line, "\t") && (str_cut(&line, '\t'), true) &&
                     str_eq(str_cut(&line, '\t'), type);
        while (is_it && line.len > 0 && found.count < RESOURCES_MAX) {
            struct resource *item = &items[found.count];
            int64_t amount;
            item->name = arena_str(arena, str_cut(&line, ' '));
            if (str_to_i64(str_cut(&line, ' '), &amount) &&
                resource_from_units(amount, &item->amount)) {
                found.count++;
            }
        }
    }
    if (found.count == 0) {
        items[0] = (struct resource){.name = STR("CPU")};
        found.count = resource_from_units(1, &items[0].amount);
    }
    return found;
}

/* One line for each type for which there is a text. */
static struct str type_zones_collect(struct provider *provider, const struct config *config,
                                     bool wants_disks, struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str name = config->node_types[i].name;
        struct provider_type_facts facts = provider->ops->type_facts(provider, i);
        struct str found = wants_disks ? facts.disks : facts.image;
        if (found.len > 0 && type_zones_fits(name) && type_zones_fits(found)) {
            buf_addf(&text, "%.*s\t%.*s\n", STR_ARG(name), STR_ARG(found));
        }
    }
    return arena_str(arena, buf_str(&text));
}

struct str type_images_ask(struct provider *provider, const struct config *config,
                           struct arena *arena)
{
    return type_zones_collect(provider, config, false, arena);
}

struct str type_disks_ask(struct provider *provider, const struct config *config,
                          struct arena *arena)
{
    return type_zones_collect(provider, config, true, arena);
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
