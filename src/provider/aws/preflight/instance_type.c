/* instance_type.c: looks up instance types and suggests corrections for misspelt ones. */
#include "provider/aws/preflight/instance_type.h"

#include "base/buf.h"
#include "base/suggest.h"

enum { SIZES_SHOWN = 8 };

const struct ec2_type *instance_type_find(const struct ec2_types *types, struct str name)
{
    for (size_t i = 0; i < types->count; i++) {
        if (str_eq(types->items[i].name, name)) {
            return &types->items[i];
        }
    }
    return NULL;
}

bool instance_type_is_offered(const struct ec2_offerings *offered, struct str name)
{
    for (size_t i = 0; i < offered->count; i++) {
        if (str_eq(offered->items[i].type, name)) {
            return true;
        }
    }
    return false;
}

bool instance_type_runs(const struct ec2_type *type, struct str arch)
{
    for (size_t i = 0; i < EC2_ARCH_MAX; i++) {
        if (arch.len > 0 && str_eq(type->archs[i], arch)) {
            return true;
        }
    }
    return false;
}

struct str instance_type_arch(const struct ec2_type *type)
{
    if (instance_type_runs(type, STR("x86_64"))) {
        return STR("x86_64");
    }
    return instance_type_runs(type, STR("arm64")) ? STR("arm64") : type->archs[0];
}

/* ---- suggestions ---- */

static struct str family(struct str name)
{
    return str_cut(&name, '.');
}

static bool was_before(const struct ec2_offerings *offered, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (str_eq(offered->items[i].type, offered->items[at].type)) {
            return true;
        }
    }
    return false;
}

/* The region may have other sizes of the same family. */
static struct str sizes_hint(struct str name, const struct ec2_offerings *offered,
                             struct arena *arena)
{
    AUTO_BUF struct buf out;
    size_t shown = 0;
    buf_init(&out, 1024);
    for (size_t i = 0; i < offered->count && shown < SIZES_SHOWN; i++) {
        struct str type = offered->items[i].type;
        if (str_eq(family(type), family(name)) && !was_before(offered, i)) {
            buf_addf(&out, "%s%.*s", shown++ > 0 ? ", " : "the region has ", STR_ARG(type));
        }
    }
    return arena_str(arena, buf_str(&out));
}

struct str instance_type_hint(struct str name, const struct ec2_offerings *offered,
                              struct arena *arena)
{
    struct suggest suggest;
    suggest_start(&suggest, name);
    for (size_t i = 0; i < offered->count; i++) {
        suggest_offer(&suggest, offered->items[i].type);
    }
    struct str best = suggest_best(&suggest);
    struct str sizes = sizes_hint(name, offered, arena);
    if (sizes.len > 0 && !str_eq(family(best), family(name))) {
        return sizes; /* better than a similarly spelt type of another family */
    }
    return best.len > 0
               ? arena_printf(arena, "the closest match in this region is %.*s", STR_ARG(best))
               : sizes;
}
