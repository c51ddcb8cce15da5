/* verb_monitor.c: follow what the autoscaler on the head writes down. */
#include "cli/output.h"
#include "cli/target.h"

struct monitor_fields {
    struct target_fields target;
    int64_t lines;
};

enum { LINES = 100, BY_CTRL_C = 130 };

static const struct operand operands[] = {TARGET_OPERAND(struct monitor_fields)};

static const struct option options[] = {
    {"lines", 0, OPTION_NUMBER, offsetof(struct monitor_fields, lines), "N", NULL,
     "How many of the last lines come first; 100 if it is not given."},
    TARGET_NAME_OPTION(struct monitor_fields),
    TARGET_PROFILE_OPTION(struct monitor_fields),
    TARGET_LOG_OPTIONS(struct monitor_fields),
};

static const struct example examples[] = {
    {"shoal monitor cluster.yaml", "Follow it; Ctrl-C ends it."},
};

static int follow(struct target *target, const void *fields)
{
    const struct monitor_fields *given = fields;
    int64_t lines = given->lines > 0 ? given->lines : LINES;
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    const char *const *argv;
    struct ssh_session session = {.is_interactive = target_has_terminal()};
    session.command = arena_printf(
        target->cli.arena, "exec tail -n %lld -F ~/.shoal/cluster/service.log", (long long)lines);
    if (!target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    place = target_way(&place, false);
    if (!ssh_words(&place, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    int status = target_run(target, argv);
    return status == BY_CTRL_C ? 0 : status; /* the only way to end it is no failure */
}

static int run(const struct cli *cli, const void *fields)
{
    const struct monitor_fields *given = fields;
    struct err err;
    if (given->lines < 0) {
        err_set(&err, ERR_USAGE, "--lines cannot be less than 0");
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, follow, given);
}

const struct verb verb_monitor = {
    .name = "monitor",
    .summary = "follow the log of the autoscaler on the head",
    .description = "Prints the last lines of ~/.shoal/cluster/service.log of the head, where the "
                   "autoscaler says what it does and why, and what comes after them, until Ctrl-C. "
                   "What the set-up of a node said is in shoal logs.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 after Ctrl-C, 255 when ssh failed, 1 when there is no head, 2 for a wrong "
                   "command line.",
    .fields_size = sizeof(struct monitor_fields),
    .run = run,
};
