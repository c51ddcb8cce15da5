/* verb_config.c: the configuration as shoal and Ray understand it. */
#include "app/local_host.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/record.h"
#include "config/document/json_write.h"
#include "config/document/yaml_write.h"
#include "config/hash.h"
#include "config/secret.h"

#include <string.h>

struct config_fields {
    const char *file;
    const char *output;
    bool hashes;
    bool show_secrets;
};

static const char *const formats[] = {"yaml", "json", NULL};

static const struct operand operands[] = {
    {"FILE", offsetof(struct config_fields, file), false, COMPLETE_FILE, NULL,
     "The cluster file; - reads standard input."},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct config_fields, output), "FORMAT", formats,
     "yaml (the default) or json."},
    {"hashes", 0, OPTION_FLAG, offsetof(struct config_fields, hashes), NULL, NULL,
     "Print Ray's hashes instead: of each node type's launch configuration, of what runs on head "
     "and workers, and of the contents of the file mounts."},
    {"show-secrets", 0, OPTION_FLAG, offsetof(struct config_fields, show_secrets), NULL, NULL,
     "Print credentials as they are instead of " SECRET_MASK "."},
};

static const struct example examples[] = {
    {"shoal config cluster.yaml", "See every default, and the modern form of an old file."},
    {"shoal config --hashes cluster.yaml",
     "Compare with the ray-launch-config and ray-runtime-config tags of running machines."},
};

/* ---- hashes ---- */

static bool hash_types(struct arena *arena, const struct config *config, struct value *result,
                       struct err *err)
{
    struct value *launch = record_new(arena);
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct str hash;
        if (!hash_launch(arena, local_host(), type->node_config, config->auth, &hash, err)) {
            return err_wrap(err, "launch hash of node type %.*s", STR_ARG(type->name));
        }
        record_text(arena, launch, type->name.ptr, hash);
    }
    value_map_set_c(arena, result, "launch", launch);
    return true;
}

/* What Ray hashes for a worker: the two command lists. For the head: everything. */
static struct value *worker_extra(struct arena *arena, const struct value *tree)
{
    struct value *list = record_list(arena);
    value_list_add(arena, list, value_get_c(tree, "worker_setup_commands"));
    value_list_add(arena, list, value_get_c(tree, "worker_start_ray_commands"));
    return list;
}

static bool hash_nodes(struct arena *arena, const struct config *config, struct value *result,
                       struct err *err)
{
    struct value *runtime = record_new(arena);
    struct hash_runtime_input input = {value_get_c(config->tree, "file_mounts"), NULL,
                                       config->tree};
    struct str head;
    struct str worker;
    struct str contents;
    if (!input.file_mounts) {
        input.file_mounts = record_new(arena);
    }
    if (!hash_runtime(arena, local_host(), &input, &head, &contents, err)) {
        return err_wrap(err, "runtime hash of the head");
    }
    input.cluster_synced_files = value_get_c(config->tree, "cluster_synced_files");
    input.extra = worker_extra(arena, config->tree);
    if (!hash_runtime(arena, local_host(), &input, &worker, &contents, err)) {
        return err_wrap(err, "runtime hash of a worker");
    }
    record_text(arena, runtime, "head", head);
    record_text(arena, runtime, "worker", worker);
    value_map_set_c(arena, result, "runtime", runtime);
    record_text(arena, result, "file_mounts_contents", contents);
    return true;
}

static const struct value *hashes_of(struct arena *arena, const struct config *config,
                                     struct err *err)
{
    struct value *result = record_new(arena);
    bool ok = hash_types(arena, config, result, err) && hash_nodes(arena, config, result, err);
    return ok ? result : NULL;
}

/* ---- the verb ---- */

static int print(const struct cli *cli, const struct value *value, const char *format)
{
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (format && strcmp(format, "json") == 0) {
        if (!json_write(&out, value, JSON_PRETTY, &err)) {
            return output_error(cli, &err);
        }
        buf_add_char(&out, '\n');
    } else {
        yaml_write(&out, value);
    }
    return output_write(cli, cli->out, &out);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct config_fields *given = fields;
    struct err err;
    struct input input;
    if (!input_read(cli, given->file, INPUT_AS_RAY, &input, &err)) {
        return output_error(cli, &err);
    }
    const struct config *config = input.config;
    input_print_findings(cli, &input.diags);
    if (!config) {
        return 1;
    }
    const struct value *shown = config->tree;
    if (given->hashes) {
        shown = hashes_of(cli->arena, config, &err);
        if (!shown) {
            return output_error(cli, &err);
        }
    } else if (!given->show_secrets) {
        shown = secret_mask(cli->arena, config->tree);
    }
    return print(cli, shown, given->output);
}

const struct verb verb_config = {
    .name = "config",
    .summary = "print a cluster file with every default filled in",
    .description =
        "Prints the configuration that a cluster file stands for: the provider's defaults filled "
        "in, old keys converted to their modern form, set-up commands merged, resources taken "
        "from the machine types. It is what Ray would work with. (As a cluster file it "
        "would run setup_commands twice, because they are part of both merged lists.)\n\n"
        "What looks like a secret is masked: values of keys and variables that name one, values of "
        "password options, and passwords in URLs. Read the output before you share it all the "
        "same: a secret in a place nobody would expect is not found.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when Ray would accept the file, 1 when it would not, 2 for a wrong "
                   "command line.",
    .fields_size = sizeof(struct config_fields),
    .run = run,
};
