/* fuzz_yaml.c: any bytes as a YAML file: read, and what can be read is written in every form. */
#include "fuzz.h"

#include "config/document/yaml_read.h"

static void check_verdict(const struct value *tree, const struct diag_list *diags)
{
    if (!tree && diags->error_count != 1) {
        fuzz_fail("yaml_read fails with the one finding that says why", STR(""));
    }
    if (tree && diags->error_count != 0) {
        fuzz_fail("yaml_read finds no errors in a file that it reads", diags->items[0].text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct diag_list diags;
    struct source source = fuzz_source(data, size);
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    const struct value *tree = yaml_read(&arena, &source, &diags);
    check_verdict(tree, &diags);
    fuzz_check_findings(&diags);
    if (tree) {
        fuzz_check_json(tree);
        fuzz_check_round_trip(&arena, tree);
    }
    arena_clear(&arena);
    return 0;
}
