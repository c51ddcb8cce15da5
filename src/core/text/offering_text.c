/* offering_text.c: formats offerings. */
#include "core/text/offering_text.h"

static struct str offering_text_type_text(const struct core_settings *settings,
                                          const struct offering *place, struct arena *arena)
{
    if (place->type >= settings->type_count) {
        return arena_printf(arena, "type %u", place->type);
    }
    return format_plain(settings->types[place->type].name, arena);
}

static const char *market_words(const struct offering *place)
{
    return place->market == MARKET_SPOT ? "spot" : "on demand";
}

/* "g5.xlarge in us-east-1a" */
static struct str place_words(const struct core_settings *settings, const struct offering *place,
                              struct arena *arena)
{
    struct str type = offering_text_type_text(settings, place, arena);
    struct str zone = format_name(settings->names, place->zone, arena);
    return arena_printf(arena, "%.*s in %.*s", STR_ARG(type), STR_ARG(zone));
}

struct str format_offering(const struct core_settings *settings, uint32_t offering,
                           struct arena *arena)
{
    if (offering >= settings->offering_count) {
        return arena_printf(arena, "offering %u", offering);
    }
    const struct offering *place = &settings->offerings[offering];
    struct str where = place_words(settings, place, arena);
    return arena_printf(arena, "%.*s, %s", STR_ARG(where), market_words(place));
}

struct str format_priced_offering(const struct core_settings *settings, uint32_t offering,
                                  struct arena *arena)
{
    if (offering >= settings->offering_count) {
        return format_offering(settings, offering, arena);
    }
    const struct offering *place = &settings->offerings[offering];
    struct str where = place_words(settings, place, arena);
    struct str price = STR("");
    if (place->price != PRICE_UNKNOWN) {
        struct str each = format_price(place->price, arena);
        price = arena_printf(arena, ", %.*s each", STR_ARG(each));
    }
    return arena_printf(arena, "%.*s (%s%.*s)", STR_ARG(where), market_words(place),
                        STR_ARG(price));
}
