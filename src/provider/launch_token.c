/* launch_token.c: a hash for the token, two numbers and a dot for the tag. */
#include "provider/launch_token.h"

#include "base/encode.h"
#include "core/event.h"
#include "io/sha256.h"

#include <inttypes.h>

enum { HASH_BYTES = 24 }; /* long enough to be unique */

struct str launch_token(struct str uid, uint64_t launch, struct arena *arena)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * HASH_BYTES + 1];
    struct str text = arena_printf(arena, "shoal launch %.*s %" PRIu64, STR_ARG(uid), launch);
    sha256(text, digest);
    encode_hex_to(hex, digest, HASH_BYTES);
    return arena_printf(arena, "shoal-%s", hex);
}

struct str launch_number_text(uint64_t launch, struct arena *arena)
{
    return arena_printf(arena, "%u.%u", LAUNCH_ARG(launch));
}

bool launch_number_parse(struct str text, uint64_t *ret_launch)
{
    uint32_t epoch;
    uint32_t count;
    struct str rest = text;
    struct str first = str_cut(&rest, '.');
    if (!str_to_u32(first, &epoch) || !str_to_u32(rest, &count) || epoch == UINT32_MAX) {
        return false; /* a tag can be forged; there is no number after the last one */
    }
    *ret_launch = (uint64_t)epoch << 32 | count;
    return true;
}
