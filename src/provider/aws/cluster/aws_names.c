/* aws_names.c: resource names derived from a cluster's name, in characters that every service
 * accepts. */
#include "provider/aws/cluster/aws_names.h"

#include "base/buf.h"

#include <inttypes.h>

enum { LEASE_OBJECT_NAME_PART_MAX = 90, OWN_NAME_PART_MAX = 40, UID_PART_LEN = 8 };

static bool aws_names_is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* True if nothing had to be replaced. */
static bool add_plain(struct buf *out, struct str text, size_t max)
{
    bool is_same = text.len <= max;
    for (size_t i = 0; i < text.len && i < max; i++) {
        is_same = is_same && aws_names_is_plain(text.ptr[i]);
        buf_add_char(out, aws_names_is_plain(text.ptr[i]) ? text.ptr[i] : '-');
    }
    return is_same;
}

struct str aws_lease_name(struct str cluster, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 2 * LEASE_OBJECT_NAME_PART_MAX);
    buf_add_c(&out, "shoal-anchor-");
    if (!add_plain(&out, cluster, LEASE_OBJECT_NAME_PART_MAX)) {
        buf_addf(&out, "-%016" PRIx64, str_hash(cluster));
    }
    return arena_str(arena, buf_str(&out));
}

struct str aws_own_name(struct str cluster, struct str uid, const char *suffix, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 2 * LEASE_OBJECT_NAME_PART_MAX);
    buf_add_c(&out, "shoal-");
    (void)add_plain(&out, cluster, OWN_NAME_PART_MAX);
    buf_addf(&out, "-%.*s%s", STR_ARG(str_sub(uid, 0, UID_PART_LEN)), suffix);
    return arena_str(arena, buf_str(&out));
}
