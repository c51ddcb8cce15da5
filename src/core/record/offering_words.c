/* offering_words.c: a type, its zone, its market and its price. */
#include "core/record/offering_words.h"

static struct str type_words(const struct core_settings *settings, const struct offering *place,
                             struct arena *arena)
{
    if (place->type >= settings->type_count) {
        return arena_printf(arena, "type %u", place->type);
    }
    return words_plain(settings->types[place->type].name, arena);
}

static const char *market_words(const struct offering *place)
{
    return place->market == MARKET_SPOT ? "spot" : "on demand";
}

/* "g5.xlarge in us-east-1a" */
static struct str place_words(const struct core_settings *settings, const struct offering *place,
                              struct arena *arena)
{
    struct str type = type_words(settings, place, arena);
    struct str zone = words_name(settings->names, place->zone, arena);
    return arena_printf(arena, "%.*s in %.*s", STR_ARG(type), STR_ARG(zone));
}

struct str words_offering(const struct core_settings *settings, uint32_t offering,
                          struct arena *arena)
{
    if (offering >= settings->offering_count) {
        return arena_printf(arena, "offering %u", offering);
    }
    const struct offering *place = &settings->offerings[offering];
    struct str where = place_words(settings, place, arena);
    return arena_printf(arena, "%.*s, %s", STR_ARG(where), market_words(place));
}

struct str words_priced_offering(const struct core_settings *settings, uint32_t offering,
                                 struct arena *arena)
{
    if (offering >= settings->offering_count) {
        return words_offering(settings, offering, arena);
    }
    const struct offering *place = &settings->offerings[offering];
    struct str where = place_words(settings, place, arena);
    struct str price = STR("");
    if (place->price != PRICE_UNKNOWN) {
        struct str each = words_price(place->price, arena);
        price = arena_printf(arena, ", %.*s each", STR_ARG(each));
    }
    return arena_printf(arena, "%.*s (%s%.*s)", STR_ARG(where), market_words(place),
                        STR_ARG(price));
}
