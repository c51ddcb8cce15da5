/* verb_get_head_ip.c: the address of a cluster's head. */
#include "cli/launch.h"
#include "cli/record.h"
#include "cli/target.h"

#include <string.h>

struct get_head_ip_fields {
    struct target_fields target;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct get_head_ip_fields)};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct get_head_ip_fields),
    TARGET_PROFILE_OPTION(struct get_head_ip_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct get_head_ip_fields, output), "FORMAT",
     text_or_json, "text (the default) or json: head_ip, id, public_ip, private_ip."},
};

static const struct example examples[] = {
    {"ssh ubuntu@\"$(shoal get-head-ip cluster.yaml)\"", "Only the address is on standard output."},
};

static int print(const struct target *target, const struct launcher_head *head, bool is_json)
{
    struct arena *arena = target->cli.arena;
    if (is_json) {
        struct value *record = record_new(arena);
        record_text(arena, record, "head_ip", head->address);
        record_text(arena, record, "id", head->id);
        record_text(arena, record, "public_ip", head->public_ip);
        record_text(arena, record, "private_ip", head->private_ip);
        return launch_print(target, record, 0);
    }
    fprintf(target->cli.out, "%.*s\n", STR_ARG(head->address));
    return fflush(target->cli.out) != 0;
}

static int tell(struct target *target, const void *fields)
{
    const struct get_head_ip_fields *given = fields;
    struct launcher_head head;
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    return target_find(target, &head, NULL, &err) ? print(target, &head, is_json)
                                                  : target_fail(target, &err);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct get_head_ip_fields *given = fields;
    return target_work(cli, &given->target, tell, given);
}

const struct verb verb_get_head_ip = {
    .name = "get-head-ip",
    .alias = "get_head_ip",
    .summary = "print the address of a cluster's head",
    .description = "Asks the cloud for the head of the cluster and prints the address by which it "
                   "is reached from here: the public one, or the private one when "
                   "provider.use_internal_ips says so.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 on success, 1 when there is no head or the cloud cannot be asked, 2 for a "
                   "wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct get_head_ip_fields),
    .run = run,
};
