/* verb_dashboard.c: forwards the head's Ray dashboard to this machine. */
#include "app/setup/node_tools.h"
#include "app/setup/setup_plan.h"
#include "cli/local_port.h"
#include "cli/output.h"
#include "cli/target.h"
#include "ray/token.h"

#include <unistd.h>

struct dashboard_fields {
    struct target_fields target;
    int64_t port, remote_port;
};

enum { TOKEN_MS = 20 * 1000 };
enum { PORT = 8265, PORT_MAX = 65535, BY_CTRL_C = 130, SSH_FAILED = 255 };

static const struct operand operands[] = {TARGET_OPERAND(struct dashboard_fields)};

static const struct option options[] = {
    {"port", 'p', OPTION_NUMBER, offsetof(struct dashboard_fields, port), "PORT", NULL,
     "The local port. The default is 8265."},
    {"remote-port", 0, OPTION_NUMBER, offsetof(struct dashboard_fields, remote_port), "PORT", NULL,
     "The dashboard's port on the head. The default is 8265."},
    TARGET_NAME_OPTION(struct dashboard_fields),
    TARGET_PROFILE_OPTION(struct dashboard_fields),
    TARGET_CACHE_OPTION(struct dashboard_fields),
};

static const struct example examples[] = {
    {"shoal dashboard cluster.yaml", "Then open http://localhost:8265."},
    {"shoal dashboard -p 9000 cluster.yaml", "Use another local port, for example if 8265 is in "
                                             "use."},
};

/* Ray's page asks for the token that `up` made on the head. Empty: there is none, or no answer. */
static struct str find_token(struct target *target, const struct ssh_target *place)
{
    struct ssh_session session = {.command = STR("cat " SETUP_TOKEN_FILE)};
    const char *const *argv;
    struct err ignored;
    AUTO_BUF struct buf said;
    buf_init(&said, RAY_TOKEN_BYTES_MAX);
    if (!ssh_argv(place, &session, target->cli.arena, &argv, &ignored) ||
        !tools_run_clean(argv, TOKEN_MS, &said, &ignored)) {
        return STR("");
    }
    return arena_str(target->cli.arena, str_trim(buf_str(&said)));
}

/* The token is a secret: it is shown to a person, and does not go into a log. */
static struct str token_text(struct target *target, struct str token)
{
    struct str words = target_text(target);
    if (token.len == 0) {
        return STR("");
    }
    if (isatty(fileno(target->cli.err)) == 1) {
        return arena_printf(target->cli.arena, "The dashboard asks for this token once: %.*s\n",
                            STR_ARG(token));
    }
    return arena_printf(target->cli.arena,
                        "The dashboard asks for a token once; to print it: shoal exec %.*s 'ray "
                        "get-auth-token'\n",
                        STR_ARG(words));
}

static int forward(struct target *target, uint16_t port, uint16_t remote_port)
{
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    const char *const *argv;
    struct ssh_forward ports = {port, remote_port};
    struct ssh_session session = {.has_no_command = true, .forwards = &ports, .forward_count = 1};
    if (!local_port_check(port, &err) || !target_find(target, &head, &place, &err)) {
        return target_fail(target, &err);
    }
    struct str token = find_token(target, &place);
    place = target_way(&place, true);
    if (!ssh_argv(&place, &session, target->cli.arena, &argv, &err)) {
        return target_fail(target, &err);
    }
    struct str notice = arena_printf(
        target->cli.arena, "Ray's dashboard: http://localhost:%u    (Ctrl-C to stop)\n%.*s", port,
        STR_ARG(token_text(target, token)));
    int status = target_run(target, argv, notice);
    if (status == SSH_FAILED) {
        fprintf(target->cli.err,
                "The connection ended. If port %u is in use on this machine, choose another with "
                "-p PORT. If the dashboard uses another port on the head, use --remote-port "
                "PORT.\n",
                port);
    }
    return status == BY_CTRL_C ? 0 : status;
}

static int verb_dashboard_run(const struct cli *cli, const void *fields)
{
    const struct dashboard_fields *given = fields;
    struct target target;
    struct err err;
    int64_t port = given->port ? given->port : PORT;
    int64_t remote_port = given->remote_port ? given->remote_port : PORT;
    if (port < 1 || port > PORT_MAX || remote_port < 1 || remote_port > PORT_MAX) {
        err_set(&err, ERR_USAGE, "--port and --remote-port must be between 1 and %d", PORT_MAX);
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
    .summary = "forward Ray's dashboard to this machine",
    .description = "Forwards a local port over ssh to the dashboard on the head, until Ctrl-C. "
                   "The dashboard does not have to be reachable from the network. On a terminal, "
                   "the token that the dashboard asks for is also printed.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 after Ctrl-C, 255 if ssh failed, 1 if there is no head, 2 for a usage error.",
    .fields_size = sizeof(struct dashboard_fields),
    .run = verb_dashboard_run,
};
