/* fuzz_workload.c: any bytes as a workload file: what `shoal simulate` would go on with is within
 * its caps. */
#include "fuzz.h"

#include "config/workload/quantity.h"
#include "config/workload/workload_file.h"

static bool is_range(struct workload_range range, int64_t most)
{
    return range.least >= 0 && range.least <= range.most && range.most <= most;
}

static void check_shape(const struct workload_shape *shape)
{
    for (size_t i = 0; i < shape->resources.count; i++) {
        if (shape->resources.items[i].amount < 0) {
            fuzz_fail("amounts are not negative", shape->resources.items[i].name);
        }
    }
    for (size_t i = 0; i < shape->rule_count; i++) {
        if (shape->rules[i].value_count == 0) {
            fuzz_fail("a rule has a value", shape->rules[i].key);
        }
    }
}

static void check_class(const struct workload_class *class)
{
    bool is_timed = class->first_at >= 0 && class->first_at <= QUANTITY_MS_MAX &&
                    class->last_at >= 0 && class->last_at <= QUANTITY_MS_MAX &&
                    (class->arrival == WORKLOAD_ONCE ? class->every == 0 : class->every > 0);
    if (!is_timed || !is_range(class->count, WORKLOAD_TASKS_MAX) ||
        !is_range(class->duration, QUANTITY_MS_MAX) || class->bundles < 1 ||
        class->bundles > WORKLOAD_BUNDLES_MAX) {
        fuzz_fail("a class of work is within the caps", class->name);
    }
    check_shape(&class->shape);
}

static void check_file(const struct workload_file *file)
{
    if (file->duration < 1000 || file->class_count == 0 ||
        file->class_count > WORKLOAD_CLASSES_MAX || file->spot_notice < 0 ||
        file->spot_notice > 1000 || file->spot_share < 0 || file->spot_share > 1000) {
        fuzz_fail("a workload is within the caps", file->about);
    }
    for (size_t i = 0; i < file->class_count; i++) {
        check_class(&file->classes[i]);
    }
    for (size_t i = 0; i < file->bundle_count; i++) {
        check_shape(&file->bundles[i].shape);
    }
    for (size_t i = 0; i < file->price_count; i++) {
        if (file->prices[i].price < 0) {
            fuzz_fail("prices are not negative", file->prices[i].name);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct diag_list diags;
    struct source source = fuzz_source(data, size);
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    const struct workload_file *file = workload_file_read(&arena, &source, 0, &diags);
    if ((file == NULL) != (diags.error_count > 0)) {
        fuzz_fail("there is a workload or a reason why not", STR(""));
    }
    if (file) {
        check_file(file);
    }
    diag_merge_typos(&diags);
    fuzz_check_findings(&diags);
    arena_clear(&arena);
    return 0;
}
