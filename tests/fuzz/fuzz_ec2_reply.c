/* fuzz_ec2_reply.c: any bytes as one of the replies that a preflight reads, or as a private key.
 * The first byte selects which. */
#include "fuzz.h"

#include "provider/aws/preflight/ec2_reply.h"
#include "provider/aws/preflight/preflight_key.h"

static void need(struct str name, struct str bytes)
{
    if (name.len == 0) {
        fuzz_fail("a thing has a name", bytes);
    }
}

/* ---- one check for each reader; false: it refused ---- */

typedef bool read_fn(struct ec2_pages pages, struct arena *arena, struct str bytes,
                     struct err *err);

static bool subnets(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_subnets got;
    bool ok = ec2_subnets_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].id, bytes);
        need(got.items[i].zone, bytes);
        need(got.items[i].vpc, bytes);
    }
    return ok;
}

static bool groups(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_groups got;
    bool ok = ec2_groups_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].id, bytes);
    }
    return ok;
}

static bool vpcs(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_vpcs got;
    bool ok = ec2_vpcs_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].id, bytes);
    }
    return ok;
}

static bool images(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_images got;
    bool ok = ec2_images_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].id, bytes);
    }
    return ok;
}

static bool types(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_types got;
    bool ok = ec2_types_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].name, bytes);
        if (got.items[i].gpus < 0 || got.items[i].gpus > 2000) {
            fuzz_fail("GPUs can be counted", bytes);
        }
    }
    return ok;
}

static bool offerings(struct ec2_pages pages, struct arena *arena, struct str bytes,
                      struct err *err)
{
    struct ec2_offerings got;
    bool ok = ec2_offerings_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].type, bytes);
        need(got.items[i].location, bytes);
    }
    return ok;
}

static bool keys(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct ec2_keys got;
    bool ok = ec2_keys_read(pages, arena, &got, err);
    for (size_t i = 0; ok && i < got.count; i++) {
        need(got.items[i].name, bytes);
    }
    return ok;
}

static bool profile(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct iam_profile got;
    bool ok = iam_profile_read(pages.roots[0], arena, &got, err);
    if (ok) {
        need(got.arn, bytes);
    }
    return ok;
}

static bool template(struct ec2_pages pages, struct arena *arena, struct str bytes, struct err *err)
{
    struct param *data = NULL;
    bool ok = ec2_template_read(pages, arena, &data, err);
    if (ok && (!data || data->kind != PARAM_MAP)) {
        fuzz_fail("a template is a map", bytes);
    }
    return ok;
}

static read_fn *const readers[] = {subnets,   groups, vpcs,    images,  types,
                                   offerings, keys,   profile, template};

/* ---- the bytes ---- */

static void check_xml(read_fn *read_reply, struct str bytes, struct arena *arena)
{
    const struct xml_element *roots[2];
    struct err err = {0};
    if (!xml_tree_parse(bytes, arena, &roots[0], &err)) {
        return;
    }
    roots[1] = roots[0];
    err = (struct err){0};
    bool ok = read_reply((struct ec2_pages){roots, 1}, arena, bytes, &err);
    if (!ok && err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
    if (ok != read_reply((struct ec2_pages){roots, 2}, arena, bytes, &err)) {
        fuzz_fail("a page twice is read as once", bytes);
    }
}

static void check_parameter(struct str bytes, struct arena *arena)
{
    struct str value;
    struct err err = {0};
    int64_t limit;
    if (quota_limit_read(bytes, &limit, &err) && limit < 0) {
        fuzz_fail("a quota is not negative", bytes);
    }
    if (ssm_parameter_read(bytes, arena, &value, &err)) {
        need(value, bytes);
        for (size_t i = 0; i < value.len; i++) {
            if (value.ptr[i] <= ' ' || value.ptr[i] > '~') {
                fuzz_fail("a parameter is plain text", bytes);
            }
        }
    } else if (err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str half;
    if (size == 0) {
        return 0;
    }
    struct str bytes = {(const char *)data + 1, size - 1};
    size_t which = (size_t)(data[0] - 'a');
    arena_init(&arena);
    if (which < ARRAY_LEN(readers)) {
        check_xml(readers[which], bytes, &arena);
    } else if (data[0] == 'p') {
        check_parameter(bytes, &arena);
    } else if (preflight_key_public(bytes, &arena, &half) == PREFLIGHT_KEY_READ) {
        need(half, bytes);
    }
    arena_clear(&arena);
    return 0;
}
