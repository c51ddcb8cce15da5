/* verb_get_head_ip.c: prints the address of a cluster's head. */
#include "cli/json_object.h"
#include "cli/launch.h"
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
    {"head=$(shoal get-head-ip cluster.yaml)",
     "Standard output contains only the address. To log in, use shoal attach, which knows the "
     "ssh keys of the head."},
};

static int verb_get_head_ip_print(const struct target *target, const struct launcher_head *head,
                                  bool is_json)
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

static int verb_get_head_ip_report(struct target *target, const void *fields)
{
    const struct get_head_ip_fields *given = fields;
    struct launcher_head head;
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    return target_find(target, &head, NULL, &err) ? verb_get_head_ip_print(target, &head, is_json)
                                                  : target_fail(target, &err);
}

static int verb_get_head_ip_run(const struct cli *cli, const void *fields)
{
    const struct get_head_ip_fields *given = fields;
    return target_work(cli, &given->target, verb_get_head_ip_report, given);
}

const struct verb verb_get_head_ip = {
    .name = "get-head-ip",
    .alias = "get_head_ip",
    .summary = "print the address of a cluster's head",
    .description = "Finds the head of the cluster in the cloud and prints its address: the public "
                   "one, or the private one if provider.use_internal_ips is true.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 on success, 1 if there is no head or the cloud cannot be reached, 2 for a "
                   "usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct get_head_ip_fields),
    .run = verb_get_head_ip_run,
};
