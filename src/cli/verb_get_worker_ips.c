/* verb_get_worker_ips.c: the addresses of a cluster's workers. */
#include "cli/launch.h"
#include "cli/record.h"
#include "cli/target.h"

#include <string.h>

struct get_worker_ips_fields {
    struct target_fields target;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct get_worker_ips_fields)};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct get_worker_ips_fields),
    TARGET_PROFILE_OPTION(struct get_worker_ips_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct get_worker_ips_fields, output), "FORMAT",
     text_or_json, "text (the default) or json: worker_ips."},
};

static const struct example examples[] = {
    {"shoal get-worker-ips cluster.yaml", "One address per line."},
};

static int print(const struct target *target, const struct launcher_head *head, bool is_json)
{
    struct arena *arena = target->cli.arena;
    struct value *list = record_list(arena);
    for (size_t i = 0; i < head->worker_count; i++) {
        value_list_add(arena, list, value_string(arena, head->worker_ips[i], (struct place){0}));
        if (!is_json) {
            fprintf(target->cli.out, "%.*s\n", STR_ARG(head->worker_ips[i]));
        }
    }
    if (!is_json) {
        return fflush(target->cli.out) != 0;
    }
    struct value *record = record_new(arena);
    value_map_set_c(arena, record, "worker_ips", list);
    return launch_print(target, record, 0);
}

static int tell(struct target *target, const void *fields)
{
    const struct get_worker_ips_fields *given = fields;
    struct launcher_head head;
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    return target_find(target, &head, NULL, &err) ? print(target, &head, is_json)
                                                  : target_fail(target, &err);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct get_worker_ips_fields *given = fields;
    return target_work(cli, &given->target, tell, given);
}

const struct verb verb_get_worker_ips = {
    .name = "get-worker-ips",
    .alias = "get_worker_ips",
    .summary = "print the addresses of a cluster's workers",
    .description = "Asks the cloud for the workers of the cluster and prints an address for each, "
                   "a line each: the public one if it has one and provider.use_internal_ips does "
                   "not say otherwise, else the private one.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 on success, also when there are no workers, 1 when there is no head or the "
                   "cloud cannot be asked, 2 for a wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct get_worker_ips_fields),
    .run = run,
};
