/* verb_down.c: end a cluster. */
#include "app/price_lookup.h"
#include "cli/cloud.h"
#include "cli/confirm.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/record.h"

#include <string.h>

struct down_fields {
    struct target_fields target;
    bool yes;
    bool workers_only;
    bool keep_min_workers;
    bool terminate;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct down_fields)};

static const struct option options[] = {
    {"yes", 'y', OPTION_FLAG, offsetof(struct down_fields, yes), NULL, NULL,
     "Do not ask for a confirmation."},
    {"workers-only", 0, OPTION_FLAG, offsetof(struct down_fields, workers_only), NULL, NULL,
     "End the workers and leave the head."},
    {"keep-min-workers", 0, OPTION_FLAG, offsetof(struct down_fields, keep_min_workers), NULL, NULL,
     "Leave as many workers as min_workers says. Refused: it cannot be done yet."},
    {"terminate", 0, OPTION_FLAG, offsetof(struct down_fields, terminate), NULL, NULL,
     "End machines for good even when the file says cache_stopped_nodes: true, those that are "
     "stopped already too."},
    TARGET_NAME_OPTION(struct down_fields),
    TARGET_PROFILE_OPTION(struct down_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct down_fields, output), "FORMAT", text_or_json,
     "json: one object on standard output when it is done; the story stays on standard error."},
    TARGET_LOG_OPTIONS(struct down_fields),
};

static const struct example examples[] = {
    {"shoal down cluster.yaml", "Ask, then end everything that was made for the cluster."},
    {"shoal down -y --workers-only cluster.yaml", "Keep the head; stop paying for the rest."},
    {"shoal down --terminate cluster.yaml", "Also what is only stopped, with its disks."},
};

/* ---- what stopped machines cost ---- */

/* Gigabytes of the volumes that one node of the type has, as the file says; and their kind. */
static int64_t volume_gb(const struct config_node_type *type, struct str *ret_kind)
{
    const struct value *list = value_get_c(type->node_config, "BlockDeviceMappings");
    int64_t sum = 0;
    *ret_kind = STR("gp3");
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        const struct value *disk = value_get_c(list->list.items[i], "Ebs");
        const struct value *size = value_get_c(disk, "VolumeSize");
        struct str kind = value_text(value_get_c(disk, "VolumeType"));
        sum += value_is(size, VALUE_INT) && size->integer > 0 ? size->integer : 0;
        *ret_kind = kind.len > 0 ? kind : *ret_kind;
    }
    return sum;
}

/* "a stopped node keeps 140 GB, about $11.20 a month" for each type that is written down. */
static void say_disks(const struct target *target)
{
    enum { CENT = 10000, CENTS = 100 };
    const struct config *config = target->config;
    struct str region = value_text(value_get_c(config->provider, "region"));
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct price_wish wish = {.kind = PRICE_VOLUME, .region = region};
        int64_t size = volume_gb(type, &wish.name);
        struct price_known price = price_written(value_get_c(config->shoal, "prices"), &wish);
        if (price.price == PRICE_UNKNOWN) {
            price = price_built_in(&wish);
        }
        if (size == 0) {
            continue;
        }
        struct str cost = STR("at a price that is not known here");
        if (price.price != PRICE_UNKNOWN) {
            int64_t cents = price.price * size / CENT;
            cost = arena_printf(target->cli.arena, "about $%lld.%02lld a month",
                                (long long)(cents / CENTS), (long long)(cents % CENTS));
        }
        cloud_print_lines(&target->cli, "note",
                          arena_printf(target->cli.arena,
                                       "a stopped node of type %.*s keeps %lld GB of disk, %.*s",
                                       STR_ARG(type->name), (long long)size, STR_ARG(cost)));
    }
}

/*
 * Ray stops machines by default and says so nowhere; their disks go on costing money. Here machines
 * end, unless the file itself asks for stopping.
 */
static bool keeps_stopped(const struct target *target, bool is_terminate)
{
    const struct value *written = value_get_c(target->config->provider, "cache_stopped_nodes");
    bool is_users = written && place_is_users(written->place);
    bool keeps = is_users && value_is_true(written) && !is_terminate;
    struct str words = target_words(target);
    if (keeps) {
        say_disks(target);
        cloud_print_lines(&target->cli, "note",
                          arena_printf(target->cli.arena,
                                       "cache_stopped_nodes is true: machines are stopped, not "
                                       "ended; shoal down --terminate %.*s ends them",
                                       STR_ARG(words)));
    } else if (!is_users) {
        cloud_print_lines(&target->cli, "note",
                          STR("machines are ended, with their disks (cache_stopped_nodes: true in "
                              "the file would stop them)"));
    }
    return keeps;
}

/* ---- the verb ---- */

static int take_down(struct target *target, const struct down_fields *given)
{
    struct err err;
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(target->cli.arena) : NULL;
    bool keeps = keeps_stopped(target, given->terminate);
    struct str question = arena_printf(
        target->cli.arena, "Cluster %.*s on %.*s: %s will be %s.",
        STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)),
        given->workers_only ? "all workers" : "all its machines", keeps ? "stopped" : "ended");
    if (!confirm(&target->cli, question.ptr, given->yes, &err)) {
        return target_fail(target, &err);
    }
    int status = target_connect(target);
    if (status != 0) {
        return status;
    }
    target->setup.is_workers_only = given->workers_only;
    target->setup.keeps_stopped = keeps;
    status = launch_down(target, record);
    return record ? launch_print(target, record, status) : status;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct down_fields *given = fields;
    struct target target;
    struct err err;
    if (given->keep_min_workers) {
        err_set(&err, ERR_USAGE,
                "--keep-min-workers cannot be done yet; nothing was changed. Without it, "
                "--workers-only ends all workers, and the next up brings min_workers back");
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    if (status == 0) {
        status = take_down(&target, given);
    }
    target_close(&target);
    return status;
}

const struct verb verb_down = {
    .name = "down",
    .summary = "end a cluster and stop paying for it",
    .description =
        "Ends all machines of the cluster and removes what was made around them: security group, "
        "key pair, role, launch template. It asks first. Only what bears the cluster's own mark is "
        "touched, and a last listing shows that nothing is left; what could not be removed is "
        "named.\n\n"
        "Ray's launcher stops machines on AWS unless told otherwise, and their disks go on costing "
        "money. Here they are ended, unless provider.cache_stopped_nodes is written as true in "
        "the file; then they are stopped, with a note on what their disks cost a month.\n\n"
        "With -o json the object on standard output has: cluster, where, nodes (as in shoal up), "
        "removed_machines, stopped_machines, removed_things, left (kind, id, note), took_ms.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when nothing is left, 1 when something is or it could not be done, 2 for a "
                   "wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct down_fields),
    .run = run,
};
