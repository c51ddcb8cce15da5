/* verb_monitor.c: follows the log of the autoscaler on the head. */
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
     "Number of lines to print from the end of the log before following it. The default is 100."},
    TARGET_NAME_OPTION(struct monitor_fields),
    TARGET_PROFILE_OPTION(struct monitor_fields),
    TARGET_LOG_OPTIONS(struct monitor_fields),
};

static const struct example examples[] = {
    {"shoal monitor cluster.yaml", "Follow the log; Ctrl-C to stop."},
};

static int verb_monitor_follow(struct target *target, const void *fields)
{
    const struct monitor_fields *given = fields;
    int64_t lines = given->lines > 0 ? given->lines : LINES;
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    const char *const *argv;
    struct ssh_session session = {.is_interactive = target_has_terminal()};
    session.command = arena_printf(
        target->cli.arena, "exec tail -n %lld -F ~/.shoal/cluster/service.log", (long long)lines);
    if (!target_reach(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    place = target_way(&place, false);
    if (!ssh_argv(&place, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    int status = target_run(target, argv, STR(""));
    return status == BY_CTRL_C ? 0 : status; /* Ctrl-C is the normal way to end it */
}

static int verb_monitor_run(const struct cli *cli, const void *fields)
{
    const struct monitor_fields *given = fields;
    struct err err;
    if (given->lines < 0) {
        err_set(&err, ERR_USAGE, "--lines cannot be less than 0");
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, verb_monitor_follow, given);
}

const struct verb verb_monitor = {
    .name = "monitor",
    .summary = "follow the log of the autoscaler on the head",
    .description = "Prints the last lines of ~/.shoal/cluster/service.log on the head, the log of "
                   "the autoscaler, and follows it until Ctrl-C. For the setup log of a node, use "
                   "shoal logs.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 after Ctrl-C, 255 if ssh failed, 1 if there is no head, 2 for a usage error.",
    .fields_size = sizeof(struct monitor_fields),
    .run = verb_monitor_run,
};
