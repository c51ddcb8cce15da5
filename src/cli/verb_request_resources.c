/* verb_request_resources.c: what a cluster is to have room for, whatever waits. */
#include "cli/output.h"
#include "cli/talk.h"
#include "cli/wishes.h"

struct request_fields {
    struct target_fields target;
    int64_t num_cpus;
    const char *bundles;
};

static const struct operand operands[] = {TARGET_OPERAND(struct request_fields)};

static const struct option options[] = {
    {"num-cpus", 0, OPTION_NUMBER, offsetof(struct request_fields, num_cpus), "N", NULL,
     "Room for so many CPUs, wherever they are."},
    {"bundles", 0, OPTION_TEXT, offsetof(struct request_fields, bundles), "JSON", NULL,
     "Room for all of these at once: a list of resources, such as [{\"GPU\": 1}, {\"CPU\": 4}]."},
    TARGET_NAME_OPTION(struct request_fields),
    TARGET_PROFILE_OPTION(struct request_fields),
    TARGET_VERBOSE_OPTION(struct request_fields),
};

static const struct example examples[] = {
    {"shoal request-resources cluster.yaml --num-cpus 64", "Before the work comes."},
    {"shoal request-resources cluster.yaml --bundles '[{\"GPU\": 2}]'",
     "Room for two GPUs on one node."},
    {"shoal request-resources cluster.yaml", "Take it back: nodes that nothing needs may go."},
};

struct wishes {
    const struct gcs_wish *items;
    size_t count;
};

static void ignore_line(void *context, const struct ctl_line *line)
{
    (void)context;
    (void)line;
}

static int request(struct target *target, const void *fields)
{
    const struct wishes *wishes = fields;
    struct talk_question question = {.request = {.what = STR("request-resources"),
                                                 .wishes = wishes->items,
                                                 .wish_count = wishes->count}};
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    struct talk_setup setup = {
        .session = &target->session,
        .place = &place,
        .arena = target->cli.arena,
        .questions = &question,
        .question_count = 1,
        .line = ignore_line,
    };
    if (!target_find(target, &head, &place, &err) || !talk(&setup, &err)) {
        return target_fail(target, &err);
    }
    int64_t bundles = 0;
    for (size_t i = 0; i < wishes->count; i++) {
        bundles += wishes->items[i].count;
    }
    if (bundles == 0) {
        fputs("Nothing is requested any more: what is idle may go.\n", target->cli.err);
    } else {
        fprintf(
            target->cli.err,
            "Requested: room for %lld bundle%s, until it is requested otherwise. Watch it come: "
            "shoal status --watch %.*s\n",
            (long long)bundles, bundles == 1 ? "" : "s", STR_ARG(target_words(target)));
    }
    return 0;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct request_fields *given = fields;
    struct wishes wishes;
    struct err err;
    if (!wishes_read(given->num_cpus, given->bundles, cli->arena, &wishes.items, &wishes.count,
                     &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, request, &wishes);
}

const struct verb verb_request_resources = {
    .name = "request-resources",
    .summary = "ask for room in a cluster before work needs it",
    .description =
        "Does what ray.autoscaler.sdk.request_resources() does: the cluster is scaled so that all "
        "of it would fit, whether something runs there or not, and nodes that this needs do not "
        "end for being idle. There is one such request in a cluster; another one replaces it, and "
        "one without anything takes it back.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when Ray has taken it, 1 when it has not, 2 for a wrong command line, 130 "
                   "after Ctrl-C.",
    .fields_size = sizeof(struct request_fields),
    .run = run,
};
