/* verb_validate.c: reports all errors in a cluster file at once, with their positions. */
#include "base/utf8.h"
#include "cli/cluster_choice.h"
#include "cli/input.h"
#include "cli/json_object.h"
#include "cli/output.h"
#include "config/document/json_write.h"

#include <string.h>

struct validate_fields {
    const char *file;
    const char *output;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct validate_fields, file), false, COMPLETE_FILE, NULL,
     "The cluster file; - reads standard input.", false, cluster_choice},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct validate_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
};

static const struct example examples[] = {
    {"shoal validate cluster.yaml", "Check a file before you pay for anything."},
    {"shoal validate -o json cluster.yaml | jq .errors", "Print the number of errors, for use in "
                                                         "scripts."},
};

/* ---- text ---- */

/* The sum over all node types, limited by the cluster's maximum. */
static int64_t most_workers(const struct config *config)
{
    int64_t sum = 0;
    for (size_t i = 0; i < config->node_type_count; i++) {
        int64_t most = config->node_types[i].max_workers;
        sum += most > 0 && sum < config->max_workers ? most : 0;
    }
    return sum < config->max_workers ? sum : config->max_workers;
}

/* "demo on aws us-west-2: head m5.large, at most 2 workers" */
static void verb_validate_describe(struct buf *out, const struct config *config)
{
    struct str region = value_text(value_get_c(config->provider, "region"));
    struct str location = value_text(value_get_c(config->provider, "location"));
    const struct config_node_type *head = &config->node_types[config->head_type];
    struct str machine = value_text(value_get_c(head->node_config, "InstanceType"));
    if (machine.len == 0) {
        machine = value_text(value_get_c(head->node_config, "machineType"));
    }
    struct str where = region.len > 0 ? region : location;
    buf_addf(out, "%.*s on %.*s%s%.*s: head %.*s, ", STR_ARG(config->cluster_name),
             STR_ARG(config->provider_type), where.len > 0 ? " " : "", STR_ARG(where),
             STR_ARG(machine.len > 0 ? machine : head->name));
    long long workers = (long long)most_workers(config);
    if (workers == 0) {
        buf_add_c(out, "no workers");
    } else {
        buf_addf(out, "at most %lld worker%s", workers, workers == 1 ? "" : "s");
    }
}

static void verb_validate_print_text(struct buf *out, const struct diag_list *diags,
                                     const struct source *source, const struct config *config,
                                     bool colour)
{
    struct diag_style style = output_style(colour);
    for (size_t i = 0; i < diags->count; i++) {
        diag_print(out, &diags->items[i], &style);
    }
    if (diags->count > 0) {
        diag_print_summary(out, diags);
        buf_add_char(out, '\n');
    }
    if (diags->error_count == 0 && config && config->node_type_count > 0) {
        AUTO_BUF struct buf line;
        buf_init(&line, (size_t)64 * 1024);
        buf_addf(&line, "%.*s is %s. ", STR_ARG(source->name),
                 diags->count > 0 ? "usable" : "fine");
        verb_validate_describe(&line, config);
        utf8_add_visible(out, buf_str(&line), false);
        buf_add_char(out, '\n');
    }
}

/* ---- JSON ---- */

static struct value *finding(struct arena *arena, const struct diag *diag)
{
    struct value *map = record_new(arena);
    bool is_error = diag->level == DIAG_ERROR;
    record_text(arena, map, "level", is_error ? STR("error") : STR("warning"));
    record_text(arena, map, "code", str_from(diag->code));
    record_int(arena, map, "line", diag->place.line);
    record_int(arena, map, "column", diag->place.column);
    record_int(arena, map, "width", diag->place.width);
    record_text(arena, map, "text", diag->text);
    record_text(arena, map, "hint", diag->hint);
    return map;
}

static bool verb_validate_print_json(struct buf *out, struct arena *arena,
                                     const struct diag_list *diags, const struct source *source,
                                     struct err *err)
{
    struct value *result = record_new(arena);
    struct value *findings = record_list(arena);
    for (size_t i = 0; i < diags->count; i++) {
        value_list_add(arena, findings, finding(arena, &diags->items[i]));
    }
    record_text(arena, result, "file", source->name);
    record_int(arena, result, "errors", (int64_t)diags->error_count);
    record_int(arena, result, "warnings", (int64_t)diags->warning_count);
    record_flag(arena, result, "truncated",
                diags->error_count + diags->warning_count > diags->count);
    value_map_set_c(arena, result, "findings", findings);
    bool ok = json_write(out, result, JSON_PRETTY, err);
    buf_add_char(out, '\n');
    return ok;
}

static int verb_validate_run(const struct cli *cli, const void *fields)
{
    const struct validate_fields *given = fields;
    AUTO_BUF struct buf out;
    struct err err;
    struct input input;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (!input_read(cli, given->file, INPUT_CHECKED, &input, &err)) {
        return output_error(cli, &err);
    }
    if (given->output && strcmp(given->output, "json") == 0) {
        if (!verb_validate_print_json(&out, cli->arena, &input.diags, &input.source, &err)) {
            return output_error(cli, &err);
        }
    } else {
        verb_validate_print_text(&out, &input.diags, &input.source, input.config, cli->colour_out);
    }
    int status = output_write(cli, cli->out, &out);
    return status ? status : !input.config;
}

const struct verb verb_validate = {
    .name = "validate",
    .summary = "check a cluster file for errors",
    .description =
        "Reads a cluster file as Ray would and reports all errors in one run: each with its line "
        "and column, the line itself, and what to write instead. It makes no network calls and "
        "creates nothing.\n\n"
        "Errors are problems that make Ray reject the file, or that would show only after the "
        "first instance is running: instance types that do not exist, missing files in "
        "file_mounts, private keys that ssh would reject. Warnings are keys that nothing reads, "
        "old keys that shoal converts, worker counts that can never be reached, and setup "
        "commands that fail when they are run twice.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if there are no errors (warnings do not count), 1 if there are, 2 for a "
                   "usage error.",
    .fields_size = sizeof(struct validate_fields),
    .run = verb_validate_run,
};
