/* verb_dashboard.c: Ray's dashboard of the head, on this machine. */
#include "cli/output.h"
#include "cli/target.h"

struct dashboard_fields {
    struct target_fields target;
    int64_t port, remote_port;
};

enum { PORT = 8265, PORT_MAX = 65535, BY_CTRL_C = 130, SSH_FAILED = 255 };

static const struct operand operands[] = {TARGET_OPERAND(struct dashboard_fields)};

static const struct option options[] = {
    {"port", 'p', OPTION_NUMBER, offsetof(struct dashboard_fields, port), "PORT", NULL,
     "The port of this machine; 8265 if it is not given."},
    {"remote-port", 0, OPTION_NUMBER, offsetof(struct dashboard_fields, remote_port), "PORT", NULL,
     "The port of the dashboard on the head; 8265 if it is not given."},
    TARGET_NAME_OPTION(struct dashboard_fields),
    TARGET_PROFILE_OPTION(struct dashboard_fields),
    TARGET_CACHE_OPTION(struct dashboard_fields),
};

static const struct example examples[] = {
    {"shoal dashboard cluster.yaml", "Then open http://localhost:8265."},
    {"shoal dashboard -p 9000 cluster.yaml", "When 8265 is taken here."},
};

static int forward(struct target *target, uint16_t port, uint16_t remote_port)
{
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    const char *const *argv;
    struct ssh_forward ports = {port, remote_port};
    struct ssh_session session = {.has_no_command = true, .forwards = &ports, .forward_count = 1};
    if (!target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    place = target_way(&place, true);
    if (!ssh_words(&place, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    fprintf(target->cli.err, "Ray's dashboard: http://localhost:%u    (Ctrl-C ends it)\n", port);
    int status = target_run(target, argv);
    if (status == SSH_FAILED) {
        fprintf(target->cli.err,
                "It ended. If port %u is taken here, choose another one: -p PORT; if the dashboard "
                "has another port there: --remote-port PORT.\n",
                port);
    }
    return status == BY_CTRL_C ? 0 : status;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct dashboard_fields *given = fields;
    struct target target;
    struct err err;
    int64_t port = given->port ? given->port : PORT;
    int64_t remote_port = given->remote_port ? given->remote_port : PORT;
    if (port < 1 || port > PORT_MAX || remote_port < 1 || remote_port > PORT_MAX) {
        err_set(&err, ERR_USAGE, "ports are between 1 and %d", PORT_MAX);
        return output_error(cli, &err);
    }
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    status = status ? status : forward(&target, (uint16_t)port, (uint16_t)remote_port);
    target_close(&target);
    return status;
}

const struct verb verb_dashboard = {
    .name = "dashboard",
    .summary = "make Ray's dashboard reachable on this machine",
    .description = "Forwards a port of this machine, by ssh, to the dashboard on the head, until "
                   "Ctrl-C. Nobody else needs to be able to reach it.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 after Ctrl-C, 255 when ssh failed, 1 when there is no head, 2 for a wrong "
                   "command line.",
    .fields_size = sizeof(struct dashboard_fields),
    .run = run,
};
