/* fuzz_config.c: any bytes as a cluster file: what validate and config do with one, on a machine
 * that is made up. */
#include "fuzz.h"

#include "base/buf.h"
#include "config/config.h"
#include "config/hash.h"
#include "config/secret.h"
#include "fake_host.h"

/* ---- what `shoal config --hashes` does ---- */

static void hash_types(struct arena *arena, const struct config *config)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct err err = {0};
        struct str hash;
        bool ok = hash_launch(arena, fake_host(), config->node_types[i].node_config, config->auth,
                              &hash, &err);
        if (ok ? hash.len != 52 : err.kind == ERR_NONE) {
            fuzz_fail("a hash has 52 characters, or a reason why there is none", hash);
        }
    }
}

static void hash_nodes(struct arena *arena, const struct config *config)
{
    struct err err = {0};
    struct str runtime;
    struct str contents;
    struct hash_runtime_input input = {value_get_c(config->tree, "file_mounts"),
                                       value_get_c(config->tree, "cluster_synced_files"),
                                       config->tree};
    if (!input.file_mounts) {
        input.file_mounts = value_new(arena, VALUE_MAP, (struct place){0});
    }
    bool ok = hash_runtime(arena, fake_host(), &input, &runtime, &contents, &err);
    if (ok ? runtime.len != 52 || contents.len != 52 : err.kind == ERR_NONE) {
        fuzz_fail("a hash has 52 characters, or a reason why there is none", STR(""));
    }
}

/* ---- a file that Ray would take ---- */

/* What `shoal config` prints can be used as a cluster file itself. */
static void use_config(struct arena *arena, const struct value *tree)
{
    const struct config *config = config_type(arena, tree);
    if (config->node_type_count > 0 && config->head_type >= config->node_type_count) {
        fuzz_fail("the head is one of the node types", config->cluster_name);
    }
    hash_types(arena, config);
    hash_nodes(arena, config);
    fuzz_check_round_trip(arena, secret_mask(arena, tree));
}

/* ---- any file ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct diag_list diags;
    struct source source = fuzz_source(data, size);
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    const struct value *tree = config_parse(&arena, &source, &diags);
    bool ray_takes_it = tree && diags.error_count == 0;
    if (!tree && diags.error_count == 0) {
        fuzz_fail("config_parse says why there is no tree", STR(""));
    }
    if (tree) {
        config_check(tree, fake_host(), &diags);
        fuzz_check_json(secret_mask(&arena, tree));
    }
    if (ray_takes_it) {
        use_config(&arena, tree);
    }
    fuzz_check_findings(&diags);
    arena_clear(&arena);
    return 0;
}
