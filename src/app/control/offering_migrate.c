/*
 * offering_migrate.c: renumbers launches journaled under an older version of the file.
 *
 * An intent refers to its offering by its position in the file's list of types, zones and markets.
 * The journal keeps that list (fact "offerings", one line each). When the file changes, intents are
 * renumbered; an offering that no longer exists becomes UINT32_MAX.
 */
#include "app/control/offering_migrate.h"

#include "base/buf.h"

enum { OFFERINGS_BYTES_MAX = 1024 * 1024 };
#define ASIDE ((int64_t)1 << 40) /* larger than all numbers, so that two offerings can be swapped */

static struct str offering_migrate_describe(const struct core_settings *settings,
                                            struct arena *scratch)
{
    AUTO_BUF struct buf text;
    buf_init(&text, OFFERINGS_BYTES_MAX);
    for (size_t i = 0; i < settings->offering_count; i++) {
        const struct offering *offering = &settings->offerings[i];
        struct str type = settings->types[offering->type].name;
        struct str zone = intern_text(settings->names, offering->zone);
        buf_addf(&text, "%.*s %.*s %s\n", STR_ARG(type), STR_ARG(zone),
                 offering->market == MARKET_SPOT ? "spot" : "on-demand");
    }
    return arena_str(scratch, buf_str(&text));
}

static int64_t offering_migrate_place_of(struct str line, struct str text)
{
    for (int64_t i = 0; text.len > 0; i++) {
        if (str_eq(str_cut(&text, '\n'), line)) {
            return i;
        }
    }
    return UINT32_MAX;
}

static bool move_all(struct journal *journal, struct str old, struct str new, struct err *err)
{
    struct str rest = old;
    for (int64_t i = 0; rest.len > 0; i++) {
        int64_t place = offering_migrate_place_of(str_cut(&rest, '\n'), new);
        if (place != i && !journal_renumber(journal, i, ASIDE + place, err)) {
            return false;
        }
    }
    rest = old;
    while (rest.len > 0) {
        int64_t place = offering_migrate_place_of(str_cut(&rest, '\n'), new);
        if (!journal_renumber(journal, ASIDE + place, place, err)) {
            return false;
        }
    }
    return true;
}

bool offering_migrate(struct journal *journal, const struct core_settings *settings,
                      struct arena *scratch, struct err *err)
{
    struct str new = offering_migrate_describe(settings, scratch);
    struct str old = STR("");
    if (!journal_get(journal, "offerings", scratch, &old, err)) {
        return false;
    }
    if (old.len > 0 && str_eq(old, new)) {
        return true;
    }
    return (old.len == 0 || move_all(journal, old, new, err)) &&
           journal_set(journal, "offerings", new, err);
}
