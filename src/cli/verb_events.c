/* verb_events.c: prints the events of a cluster with their reasons. */
#include "base/utf8.h"
#include "cli/ctl_query.h"
#include "cli/node_json.h"
#include "cli/output.h"
#include "config/document/json_write.h"

#include <string.h>
#include <time.h>

enum { LINE_BYTES_MAX = 64 * 1024 };

struct events_fields {
    struct target_fields target;
    const char *output;
    bool follow;
    int64_t after;
};

static const struct operand operands[] = {TARGET_OPERAND(struct events_fields)};

static const struct option options[] = {
    {"follow", 'f', OPTION_FLAG, offsetof(struct events_fields, follow), NULL, NULL,
     "Also print new events as they happen, until Ctrl-C."},
    {"after", 0, OPTION_NUMBER, offsetof(struct events_fields, after), "N", NULL,
     "Print only events with a number greater than N."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct events_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json, one object per line."},
    TARGET_NAME_OPTION(struct events_fields),
    TARGET_PROFILE_OPTION(struct events_fields),
    TARGET_VERBOSE_OPTION(struct events_fields),
};

static const struct example examples[] = {
    {"shoal events cluster.yaml", "Show what the autoscaler did, and why."},
    {"shoal events -f cluster.yaml", "Print the events so far, then new ones as they happen."},
    {"shoal events -o json cluster.yaml | jq 'select(.kind == \"failure\")'",
     "Print failures as JSON."},
};

struct verb_events_telling {
    const struct cli *cli;
    bool is_json;
    bool is_first;
    int day;
};

/* Prints the day only if it has changed. */
static void verb_events_add_time(struct verb_events_telling *telling, struct buf *out,
                                 int64_t wall_ms)
{
    time_t when = (time_t)(wall_ms / 1000);
    struct tm parts = {0};
    localtime_r(&when, &parts);
    if (telling->day != parts.tm_year * 400 + parts.tm_yday) {
        telling->day = parts.tm_year * 400 + parts.tm_yday;
        buf_addf(out, "-- %04d-%02d-%02d --\n", parts.tm_year + 1900, parts.tm_mon + 1,
                 parts.tm_mday);
    }
    buf_addf(out, "%02d:%02d:%02d  ", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

static void verb_events_add_text(struct verb_events_telling *telling, struct buf *out,
                                 const struct cluster_event *event)
{
    bool needs_eyes = event->kind == CLUSTER_EVENT_FAILURE ||
                      event->kind == CLUSTER_EVENT_INFEASIBLE;
    bool colour = telling->cli->colour_out && needs_eyes;
    verb_events_add_time(telling, out, event->wall_ms);
    buf_addf(out, "%s%-17s  ", colour ? "\033[31m" : "", cluster_event_kind_name(event->kind));
    if (event->node.len > 0) {
        utf8_add_visible(out, event->node, false);
        buf_add_c(out, ": ");
    }
    utf8_add_visible(out, event->text, false);
    if (event->reason.len > 0) {
        buf_add_c(out, "  (");
        utf8_add_visible(out, event->reason, false);
        buf_add_char(out, ')');
    }
    buf_add_c(out, colour ? "\033[0m\n" : "\n");
}

static void verb_events_add_record(struct buf *out, const struct cluster_event *event)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    if (json_write(out, event_record(&arena, event), JSON_COMPACT, &err)) {
        buf_add_char(out, '\n');
    }
}

static void verb_events_read_line(void *context, const struct ctl_line *line)
{
    struct verb_events_telling *telling = context;
    AUTO_BUF struct buf out;
    buf_init(&out, LINE_BYTES_MAX);
    if (line->kind != CTL_EVENT) {
        return;
    }
    if (telling->is_json) {
        verb_events_add_record(&out, &line->event);
    } else {
        verb_events_add_text(telling, &out, &line->event);
    }
    fwrite(out.ptr, 1, out.len, telling->cli->out);
    fflush(telling->cli->out);
}

static int print_events(struct target *target, const void *fields)
{
    const struct events_fields *given = fields;
    struct verb_events_telling telling = {
        .cli = &target->cli,
        .is_json = given->output && strcmp(given->output, "json") == 0,
        .day = -1,
    };
    struct ctl_request request = {
        .what = STR("events"), .after = given->after, .follows = given->follow};
    struct err err;
    bool ok = ctl_query_head(target, &request, verb_events_read_line, &telling, &err);
    bool is_ended = !ok && given->follow && err.kind == ERR_CANCELLED;
    return ok || is_ended ? 0 : target_fail(target, &err);
}

static int verb_events_run(const struct cli *cli, const void *fields)
{
    const struct events_fields *given = fields;
    struct err err;
    if (given->after < 0) {
        err_set(&err, ERR_USAGE, "--after cannot be less than 0");
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, print_events, given);
}

const struct verb verb_events = {
    .name = "events",
    .summary = "show the events of a cluster and their reasons",
    .description =
        "Reads the events of the autoscaler on the head over ssh: launches and their reasons, "
        "nodes that joined, were drained or terminated, interruption notices, refused launches, "
        "failures, and requests that cannot be met. The last few thousand events are kept, even "
        "if the service restarts.\n\n"
        "With -o json each line is an object with number (counts up by one), at_ms, kind "
        "(launch, join, drain, terminate, spot_interruption, failure, launch_failed, infeasible, "
        "autoscaler), node, text, reason.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the head answered, 1 if it did not, 2 for a usage error, 130 after "
                   "Ctrl-C (with -f: 0).",
    .fields_size = sizeof(struct events_fields),
    .run = verb_events_run,
};
