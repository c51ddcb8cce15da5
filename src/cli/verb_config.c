/* verb_config.c: prints the configuration as Shoal and Ray understand it. */
#include "app/local_host.h"
#include "cli/cluster_choice.h"
#include "cli/input.h"
#include "cli/json_object.h"
#include "cli/output.h"
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
     "The cluster file; - reads standard input.", false, cluster_choice},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct config_fields, output), "FORMAT", formats,
     "yaml (the default) or json."},
    {"hashes", 0, OPTION_FLAG, offsetof(struct config_fields, hashes), NULL, NULL,
     "Print Ray's hashes instead of the configuration: of the launch configuration of each node "
     "type, of the runtime configuration of the head and the workers, and of the contents of the "
     "file mounts."},
    {"show-secrets", 0, OPTION_FLAG, offsetof(struct config_fields, show_secrets), NULL, NULL,
     "Print credentials in plain text instead of " SECRET_MASK "."},
};

static const struct example examples[] = {
    {"shoal config cluster.yaml", "Show every default, and an old file in the current format."},
    {"shoal config --hashes cluster.yaml",
     "Compare with the ray-launch-config and ray-runtime-config tags of running instances."},
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

static int verb_config_print(const struct cli *cli, const struct value *value, const char *format)
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

static int verb_config_run(const struct cli *cli, const void *fields)
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
    return verb_config_print(cli, shown, given->output);
}

const struct verb verb_config = {
    .name = "config",
    .summary = "print a cluster file with every default filled in",
    .description =
        "Prints the effective configuration of a cluster file: provider defaults filled in, old "
        "keys converted, setup commands merged, resources taken from the instance types. It is "
        "the configuration that Ray would use. (Do not use the output as a cluster file: it "
        "would run setup_commands twice, because they are part of both merged lists.)\n\n"
        "Values that look like secrets are masked: values of keys and variables with names such "
        "as password, values of password options, and passwords in URLs. Still read the output "
        "before you share it: secrets in other places are not masked.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if Ray would accept the file, 1 if not, 2 for a usage error.",
    .fields_size = sizeof(struct config_fields),
    .run = verb_config_run,
};
