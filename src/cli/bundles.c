/* bundles.c: reads and counts resource bundles. */
#include "cli/bundles.h"

#include "config/document/yaml_read.h"

#include <stdlib.h>

struct bundle_list {
    struct arena *arena;
    struct gcs_bundle *items;
    size_t count, capacity;
};

static int bundles_by_name(const void *a, const void *b)
{
    const struct ray_quantity *left = a;
    const struct ray_quantity *right = b;
    return str_cmp(left->name, right->name);
}

static bool bundles_is_same(const struct gcs_bundle *bundle, const struct ray_quantity *amounts,
                            size_t count)
{
    if (bundle->amount_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(bundle->amounts[i].name, amounts[i].name) ||
            bundle->amounts[i].amount < amounts[i].amount ||
            bundle->amounts[i].amount > amounts[i].amount) {
            return false;
        }
    }
    return true;
}

/* Sorted by name. */
static void bundles_add(struct bundle_list *bundle_list, struct ray_quantity *amounts, size_t count,
                        int64_t times)
{
    qsort(amounts, count, sizeof(*amounts), bundles_by_name);
    for (size_t i = 0; i < bundle_list->count; i++) {
        if (bundles_is_same(&bundle_list->items[i], amounts, count)) {
            bundle_list->items[i].count += times;
            return;
        }
    }
    ARENA_PUSH(bundle_list->arena, bundle_list->items, bundle_list->count,
               bundle_list->capacity) = (struct gcs_bundle){amounts, count, times};
}

static bool bundles_read_bundle(struct bundle_list *bundle_list, const struct value *bundle,
                                struct err *err)
{
    if (bundle->kind != VALUE_MAP || bundle->map.count == 0) {
        return err_set(err, ERR_USAGE,
                       "--bundles: each bundle is a map of resources such as {\"CPU\": 4}");
    }
    size_t count = bundle->map.count;
    struct ray_quantity *amounts = ARENA_ARRAY(bundle_list->arena, count, struct ray_quantity);
    for (size_t i = 0; i < count; i++) {
        const struct value_entry *entry = &bundle->map.entries[i];
        double amount = 0;
        bool is_number = entry->value->kind != VALUE_BOOL && value_number(entry->value, &amount);
        if (entry->key->kind != VALUE_STRING || entry->key->text.len == 0) {
            return err_set(err, ERR_USAGE, "--bundles: the name of a resource must be a string");
        }
        if (!is_number || !(amount > 0) || amount > 1e14) {
            return err_set(err, ERR_USAGE, "--bundles: the amount of %.*s must be a number above 0",
                           STR_ARG(str_sub(entry->key->text, 0, 60)));
        }
        amounts[i] = (struct ray_quantity){entry->key->text, amount};
    }
    bundles_add(bundle_list, amounts, count, 1);
    return true;
}

static bool bundles_read_bundles(struct bundle_list *bundle_list, const char *bundles,
                                 struct err *err)
{
    struct diag_list diags;
    struct source *source = ARENA_NEW(bundle_list->arena, struct source);
    *source = (struct source){STR("--bundles"), str_from(bundles), false};
    diag_list_init(&diags, bundle_list->arena);
    const struct value *list = yaml_read(bundle_list->arena, source, &diags);
    if (!list || list->kind != VALUE_LIST) {
        return err_set(err, ERR_USAGE,
                       "--bundles: not a list of bundles such as '[{\"GPU\": 1}, {\"CPU\": 4}]'");
    }
    if (list->list.count > WISHES_MAX) {
        return err_set(err, ERR_USAGE, "--bundles: too many bundles; the maximum is %d",
                       WISHES_MAX);
    }
    for (size_t i = 0; i < list->list.count; i++) {
        if (!bundles_read_bundle(bundle_list, list->list.items[i], err)) {
            return false;
        }
    }
    return true;
}

bool bundles_read(int64_t cpus, const char *bundles, struct arena *arena,
                  const struct gcs_bundle **ret_bundles, size_t *ret_count, struct err *err)
{
    struct bundle_list bundle_list = {.arena = arena};
    if (cpus < 0) {
        return err_set(err, ERR_USAGE, "--num-cpus cannot be less than 0");
    }
    if (cpus > 0) {
        struct ray_quantity *one = ARENA_NEW(arena, struct ray_quantity);
        *one = (struct ray_quantity){STR("CPU"), 1};
        bundles_add(&bundle_list, one, 1, cpus);
    }
    if (bundles && !bundles_read_bundles(&bundle_list, bundles, err)) {
        return false;
    }
    *ret_bundles = bundle_list.items;
    *ret_count = bundle_list.count;
    return true;
}
