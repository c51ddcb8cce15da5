/* verb_get_worker_ips.c: prints the addresses of a cluster's workers. */
#include "cli/json_object.h"
#include "cli/launch.h"
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
    {"shoal get-worker-ips cluster.yaml", "Print one address per line."},
};

static int verb_get_worker_ips_print(const struct target *target, const struct launcher_head *head,
                                     bool is_json)
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

static int verb_get_worker_ips_report(struct target *target, const void *fields)
{
    const struct get_worker_ips_fields *given = fields;
    struct launcher_head head;
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    return target_find(target, &head, NULL, &err)
               ? verb_get_worker_ips_print(target, &head, is_json)
               : target_fail(target, &err);
}

static int verb_get_worker_ips_run(const struct cli *cli, const void *fields)
{
    const struct get_worker_ips_fields *given = fields;
    return target_work(cli, &given->target, verb_get_worker_ips_report, given);
}

const struct verb verb_get_worker_ips = {
    .name = "get-worker-ips",
    .alias = "get_worker_ips",
    .summary = "print the addresses of a cluster's workers",
    .description = "Finds the workers of the cluster in the cloud and prints their addresses, "
                   "one per line: the public address, or the private one if a worker has no "
                   "public address or provider.use_internal_ips is true.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 on success (even if there are no workers), 1 if there is no head or the "
                   "cloud cannot be reached, 2 for a usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct get_worker_ips_fields),
    .run = verb_get_worker_ips_run,
};
