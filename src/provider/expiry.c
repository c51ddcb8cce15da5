/* expiry.c: writes and reads the tag of a stopped machine. */
#include "provider/expiry.h"

struct str expiry_text(int64_t stopped_at, int64_t limit, struct arena *arena)
{
    return arena_printf(arena, "%lld %lld", (long long)stopped_at, (long long)limit);
}

int64_t expiry_at(struct str tag, int64_t launched_at)
{
    int64_t stopped_at;
    int64_t limit;
    struct str first = str_cut(&tag, ' ');
    if (!str_to_i64(first, &stopped_at) || !str_to_i64(tag, &limit) || stopped_at < launched_at ||
        limit <= 0 || stopped_at > INT64_MAX - limit) {
        return EXPIRY_NEVER;
    }
    return stopped_at + limit;
}
