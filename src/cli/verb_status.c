/* verb_status.c: what the nodes of a cluster do. */
#include "cli/columns.h"
#include "cli/launch.h"
#include "cli/live/failure.h"
#include "cli/live/table.h"
#include "cli/node_record.h"
#include "cli/output.h"
#include "cli/record.h"
#include "cli/talk.h"
#include "config/document/json_write.h"
#include "io/clock.h"

#include <string.h>
#include <unistd.h>

struct status_fields {
    struct target_fields target;
    const char *address;
    const char *output;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct status_fields, target.file), true, COMPLETE_FILE, NULL,
     "The cluster file. Without it: the cluster whose head this machine is."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct status_fields),
    TARGET_PROFILE_OPTION(struct status_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct status_fields, output), "FORMAT", text_or_json,
     "text for people (the default) or json for programs."},
    {"address", 0, OPTION_TEXT, offsetof(struct status_fields, address), "ADDRESS", NULL,
     "Ray has this option for the address of its own server; the head's service is asked here, "
     "so it changes nothing."},
    {"verbose", 'v', OPTION_COUNT, offsetof(struct status_fields, target.verbose), NULL, NULL,
     "Say more of what is done."},
};

static const struct example examples[] = {
    {"shoal status cluster.yaml", "Every node: what it does, since when, and why."},
    {"shoal status -o json cluster.yaml | jq '.nodes[] | select(.failure)'",
     "The nodes that have failed."},
};

/* ---- telling ---- */

static void add_header(struct buf *out, const struct talk_status *said)
{
    const struct ctl_status *status = &said->status;
    buf_addf(out, "Cluster %.*s   ", STR_ARG(said->cluster));
    if (status->ray_version.len > 0) {
        buf_addf(out, "Ray %.*s on %.*s: %zu of %zu nodes joined", STR_ARG(status->ray_version),
                 STR_ARG(status->ray_address), status->joined, status->wanted);
    } else {
        buf_addf(out, "Ray does not answer yet; %zu nodes are wanted", status->wanted);
    }
    if (status->stance.len > 0) {
        buf_addf(out, "   (%.*s)", STR_ARG(status->stance));
    }
    buf_add_c(out, "\n\n");
}

static struct value *record_of(struct arena *arena, const struct talk_status *said)
{
    const struct ctl_status *status = &said->status;
    struct value *record = record_new(arena);
    record_text(arena, record, "cluster", said->cluster);
    record_text(arena, record, "shoal_version", said->version);
    record_text(arena, record, "ray_version", status->ray_version);
    record_text(arena, record, "ray_address", status->ray_address);
    record_text(arena, record, "stance", status->stance);
    record_text(arena, record, "goal", status->goal);
    record_int(arena, record, "joined", (int64_t)status->joined);
    record_int(arena, record, "wanted", (int64_t)status->wanted);
    record_flag(arena, record, "settled", status->is_settled);
    value_map_set_c(arena, record, "nodes", node_records(arena, said->nodes, said->node_count));
    return record;
}

static int tell(const struct cli *cli, const struct status_fields *given,
                const struct config *config, const struct talk_status *said)
{
    AUTO_BUF struct buf out;
    struct err err;
    int64_t now = clock_wall_ms(&clock_of_machine);
    size_t width = isatty(STDOUT_FILENO) == 1 ? columns_of_screen(STDOUT_FILENO).columns : 0;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (given->output && strcmp(given->output, "json") == 0) {
        if (!json_write(&out, record_of(cli->arena, said), JSON_PRETTY, &err)) {
            return output_error(cli, &err);
        }
        buf_add_char(&out, '\n');
        return output_write(cli, cli->out, &out);
    }
    add_header(&out, said);
    table_print_nodes(&out, cli->arena, said->nodes, said->node_count, now, width, cli->colour_out);
    struct failure_scene scene = {
        .file = given->target.file ? given->target.file : "FILE",
        .tree = config ? config->tree : NULL,
        .nodes = said->nodes,
        .node_count = said->node_count,
        .style = output_style(cli->colour_out),
    };
    size_t before = out.len;
    buf_add_char(&out, '\n');
    failure_print_all(&out, &scene);
    out.len = out.len == before + 1 ? before : out.len;
    return output_write(cli, cli->out, &out);
}

/* ---- asking ---- */

static int ask_head(const struct cli *cli, const struct status_fields *given)
{
    struct target target;
    struct launcher_head head;
    struct ssh_place place;
    struct talk_status said;
    struct err err;
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    if (status == 0) {
        bool ok = target_find(&target, &head, &place, &err) &&
                  talk_status(&target.session, &place, cli->arena, &said, &err);
        status = ok ? tell(&target.cli, given, target.config, &said) : target_fail(&target, &err);
    }
    target_close(&target);
    return status;
}

/* On the head itself. */
static int ask_here(const struct cli *cli, const struct status_fields *given)
{
    struct cloud_session session;
    struct cloud_session_setup setup = {.least = LOG_LEVEL_WARNING};
    struct talk_status said;
    struct err err;
    if (!cloud_session_open(&session, &setup, &err)) {
        return output_error(cli, &err);
    }
    int status = 0;
    if (talk_status(&session, NULL, cli->arena, &said, &err)) {
        status = tell(cli, given, NULL, &said);
    } else {
        output_error(cli, &err);
        fputs("Without FILE this works on the head of a cluster; elsewhere: shoal status FILE\n",
              cli->err);
        status = cloud_session_exit_status(&session, &err);
    }
    cloud_session_close(&session);
    return status;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct status_fields *given = fields;
    return given->target.file ? ask_head(cli, given) : ask_here(cli, given);
}

const struct verb verb_status = {
    .name = "status",
    .summary = "show what the nodes of a cluster do, and why",
    .description =
        "Asks the service on the head of the cluster, by ssh, and prints a line for each node: its "
        "type, machine and id, what it does now, its address and its age, and what went wrong if "
        "something did.\n\n"
        "On the head itself no FILE is needed.\n\n"
        "With -o json the object has: cluster, shoal_version, ray_version, ray_address, stance, "
        "goal, joined, wanted, settled, nodes (as in shoal up).",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when the head answered, whatever its nodes do, 1 when it did not, 2 for a "
                   "wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct status_fields),
    .run = run,
};
