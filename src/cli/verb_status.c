/* verb_status.c: prints the state of a cluster's nodes. */
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/progress/progress.h"
#include "cli/progress/render.h"
#include "cli/status_text.h"
#include "config/document/json_write.h"
#include "io/clock.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_MS = 1000 };

struct status_fields {
    struct target_fields target;
    const char *address;
    const char *output;
    bool watch;
};

static bool is_json(const struct status_fields *given)
{
    return given->output && strcmp(given->output, "json") == 0;
}

static const struct operand operands[] = {
    {"FILE", offsetof(struct status_fields, target.file), true, COMPLETE_CLUSTER, NULL,
     TARGET_FILE_HELP " Not needed on the head of a cluster."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct status_fields),
    TARGET_PROFILE_OPTION(struct status_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct status_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
    {"watch", 'w', OPTION_FLAG, offsetof(struct status_fields, watch), NULL, NULL,
     "Watch until Ctrl-C. A terminal is redrawn in place; other output has one line per change, "
     "or with -o json one object per second."},
    {"address", 0, OPTION_TEXT, offsetof(struct status_fields, address), "ADDRESS", NULL,
     "No effect; accepted for compatibility with Ray. Shoal asks the service on the head."},
    TARGET_VERBOSE_OPTION(struct status_fields),
};

static const struct example examples[] = {
    {"shoal status cluster.yaml", "Show every node: its state, since when, and why."},
    {"shoal status --watch cluster.yaml", "Show the status as it changes."},
    {"shoal status -o json cluster.yaml | jq '.nodes[] | select(.failure)'",
     "List the failed nodes."},
};

/* ---- printing ---- */

struct verb_status_watcher {
    const struct cli *cli;
    const struct status_fields *given;
    const struct config *config; /* NULL: on the head itself */
    struct arena memory;         /* memory of one round */
    struct ctl_query_status said;
    struct str cluster, version;
    struct arena before_memory; /* nodes of the previous round */
    struct ctl_query_status before;
    bool is_redrawn;
    int status;
};

static struct status_frame frame_of(const struct verb_status_watcher *watcher)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    return (struct status_frame){
        .file = watcher->given->target.file ? watcher->given->target.file : "FILE",
        .tree = watcher->config ? watcher->config->tree : NULL,
        .now_ms = clock_wall_ms(&clock_of_machine),
        .width = is_terminal ? columns_of_screen(STDOUT_FILENO).columns : 0,
        .colour = watcher->cli->colour_out,
        .has_ray_text = true,
    };
}

static int verb_status_report(struct verb_status_watcher *watcher)
{
    const struct cli *cli = watcher->cli;
    AUTO_BUF struct buf out;
    struct err err;
    struct status_frame frame = frame_of(watcher);
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (is_json(watcher->given)) {
        if (!json_write(&out, status_record(&watcher->memory, &watcher->said),
                        watcher->given->watch ? JSON_COMPACT : JSON_PRETTY, &err)) {
            return output_error(cli, &err);
        }
        buf_add_char(&out, '\n');
    } else {
        status_text_add(&out, &watcher->memory, &watcher->said, &frame);
        return output_write_text(cli, cli->out, &out);
    }
    return output_write(cli, cli->out, &out);
}

/* ---- watching ---- */

static size_t count_lines(struct str text)
{
    size_t count = 0;
    while (text.len > 0) {
        str_cut(&text, '\n');
        count++;
    }
    return count;
}

/* Redraws in place: clears each line to its end, and the screen below the last one. */
static int redraw(struct verb_status_watcher *watcher)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf folded;
    AUTO_BUF struct buf out;
    struct status_frame frame = frame_of(watcher);
    struct screen_size screen = columns_of_screen(STDOUT_FILENO);
    buf_init(&text, OUTPUT_BYTES_MAX);
    buf_init(&folded, OUTPUT_BYTES_MAX);
    buf_init(&out, OUTPUT_BYTES_MAX);
    status_text_add(&text, &watcher->memory, &watcher->said, &frame);
    if (count_lines(buf_str(&text)) >= screen.lines) { /* too long: omit Ray's own status */
        text.len = 0;
        frame.has_ray_text = false;
        status_text_add(&text, &watcher->memory, &watcher->said, &frame);
    }
    columns_fold(&folded, buf_str(&text), screen.columns);
    struct str rest = buf_str(&folded);
    buf_add_c(&out, "\033[H");
    for (size_t i = 1; rest.len > 0 && i < screen.lines; i++) {
        struct str line = str_cut(&rest, '\n');
        if (str_find_char(line, '\033') == SIZE_MAX) {
            columns_add(&out, line, screen.columns);
        } else {
            buf_add(&out, line); /* coloured lines are truncated already */
        }
        buf_add_c(&out, "\033[K\n");
    }
    buf_add_c(&out, "\033[J");
    return output_write(watcher->cli, watcher->cli->out, &out);
}

static const struct node_view *find_before(const struct verb_status_watcher *watcher,
                                           struct str name)
{
    for (size_t i = 0; i < watcher->before.node_count; i++) {
        if (str_eq(watcher->before.nodes[i].name, name)) {
            return &watcher->before.nodes[i];
        }
    }
    return NULL;
}

static void verb_status_add_time(struct buf *out)
{
    time_t now = (time_t)(clock_wall_ms(&clock_of_machine) / 1000);
    struct tm parts = {0};
    localtime_r(&now, &parts);
    buf_addf(out, "%02d:%02d:%02d ", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/* In a pipe: one line for each node whose state has changed. */
static int tell_changes(struct verb_status_watcher *watcher)
{
    AUTO_BUF struct buf out;
    const struct ctl_status *now = &watcher->said.status;
    const struct ctl_status *before = &watcher->before.status;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < watcher->said.node_count; i++) {
        const struct node_view *view = &watcher->said.nodes[i];
        if (picture_is_news(find_before(watcher, view->name), view)) {
            verb_status_add_time(&out);
            picture_say_node(&out, view);
            buf_add_char(&out, '\n');
        }
    }
    if (!watcher->before.has_status || before->waiting != now->waiting ||
        before->unmet != now->unmet || before->joined != now->joined) {
        verb_status_add_time(&out);
        buf_addf(&out, "%zu node%s joined, %lld request%s pending, %lld cannot be met\n",
                 now->joined, now->joined == 1 ? "" : "s", (long long)now->waiting,
                 now->waiting == 1 ? "" : "s", (long long)now->unmet);
    }
    return output_write(watcher->cli, watcher->cli->out, &out);
}

/* Keeps the current state for the next comparison. */
static void next_round(struct verb_status_watcher *watcher)
{
    struct arena memory = watcher->before_memory;
    arena_clear(&memory);
    watcher->before_memory = watcher->memory;
    watcher->before = watcher->said;
    watcher->memory = memory;
    watcher->said = (struct ctl_query_status){.cluster = watcher->cluster,
                                              .version = watcher->version};
}

static void verb_status_read_line(void *context, const struct ctl_line *line)
{
    struct verb_status_watcher *watcher = context;
    if (line->kind == CTL_GREETING) {
        watcher->cluster = arena_str(watcher->cli->arena, line->greeting.cluster);
        watcher->version = arena_str(watcher->cli->arena, line->greeting.version);
    }
    ctl_query_status_take(&watcher->said, &watcher->memory, line);
}

static int64_t answered(void *context)
{
    struct verb_status_watcher *watcher = context;
    if (!watcher->given->watch) {
        watcher->status = verb_status_report(watcher);
        return -1;
    }
    watcher->status = is_json(watcher->given) ? verb_status_report(watcher)
                      : watcher->is_redrawn   ? redraw(watcher)
                                              : tell_changes(watcher);
    fflush(watcher->cli->out);
    next_round(watcher);
    return watcher->status == 0 ? WATCH_MS : -1;
}

/* ---- querying ---- */

static bool verb_status_request(struct verb_status_watcher *watcher, struct cloud_session *session,
                                const struct ssh_target *place, struct err *err)
{
    static const struct ctl_query_question questions[] = {
        {.request = {.what = {"status", 6}, .wants_full = true}},
        {.request = {.what = {"ray-status", 10}}, .is_optional = true},
    };
    bool watches_changes = watcher->given->watch && !watcher->is_redrawn &&
                           !is_json(watcher->given);
    return talk(&(struct ctl_query_setup){.session = session,
                                          .place = place,
                                          .arena = watcher->cli->arena,
                                          .questions = questions,
                                          .question_count = watches_changes ? 1 : 2,
                                          .context = watcher,
                                          .line = verb_status_read_line,
                                          .answered = answered},
                err);
}

static void open_watcher(struct verb_status_watcher *watcher, const struct cli *cli,
                         const struct status_fields *given)
{
    *watcher = (struct verb_status_watcher){.cli = cli, .given = given};
    arena_init(&watcher->memory);
    arena_init(&watcher->before_memory);
    watcher->is_redrawn = given->watch && !is_json(given) && progress_can_redraw(cli->out);
    if (watcher->is_redrawn) {
        fputs("\033[2J", cli->out);
    }
}

static void close_watcher(struct verb_status_watcher *watcher)
{
    arena_clear(&watcher->memory);
    arena_clear(&watcher->before_memory);
}

/* Ctrl-C is the only way to end watching, so it is not a failure. */
static bool is_ended(const struct verb_status_watcher *watcher, const struct err *err)
{
    return watcher->given->watch && err->kind == ERR_CANCELLED;
}

/* The service does not know of an `up` that failed before the setup of the head began. */
static bool verb_status_explains_head(const struct ctl_query_status *said)
{
    for (size_t i = 0; i < said->node_count; i++) {
        if (said->nodes[i].is_head) {
            return said->nodes[i].phase == PHASE_READY || said->nodes[i].phase == PHASE_FAILED;
        }
    }
    return false;
}

static int ask_head(const struct cli *cli, const struct status_fields *given)
{
    struct target target;
    struct verb_status_watcher watcher;
    struct launcher_head head;
    struct ssh_target place;
    struct err err = {0};
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    if (status == 0) {
        bool is_found = target_reach(&target, &head, &place, &err);
        open_watcher(&watcher, &target.cli, given);
        watcher.config = target.config;
        bool ok = is_found && verb_status_request(&watcher, &target.session, &place, &err);
        status = ok || is_ended(&watcher, &err) ? watcher.status : target_fail_head(&target, &err);
        if (ok && !given->watch && !verb_status_explains_head(&watcher.said)) {
            target_say_last_failure(&target);
        }
        close_watcher(&watcher);
    }
    target_close(&target);
    return status;
}

/* On the head itself. */
static int verb_status_request_here(const struct cli *cli, const struct status_fields *given)
{
    struct cloud_session session;
    struct cloud_session_setup setup = {.least = LOG_LEVEL_WARNING};
    struct verb_status_watcher watcher;
    struct err err;
    if (!cloud_session_open(&session, &setup, &err)) {
        return output_error(cli, &err);
    }
    open_watcher(&watcher, cli, given);
    int status = 0;
    if (verb_status_request(&watcher, &session, NULL, &err) || is_ended(&watcher, &err)) {
        status = watcher.status;
    } else {
        output_error(cli, &err);
        fputs("Without FILE, this command works only on the head of a cluster; elsewhere use: "
              "shoal status FILE\n",
              cli->err);
        status = cloud_session_exit_status(&session, &err);
    }
    close_watcher(&watcher);
    cloud_session_close(&session);
    return status;
}

static int verb_status_run(const struct cli *cli, const void *fields)
{
    struct status_fields given = *(const struct status_fields *)fields;
    given.target.file = target_file_or_here(cli, given.target.file);
    return given.target.file ? ask_head(cli, &given) : verb_status_request_here(cli, &given);
}

const struct verb verb_status = {
    .name = "status",
    .summary = "show the nodes of a cluster, their states and reasons",
    .description =
        "Reads the state from the service on the head over ssh. It prints the output of ray "
        "status; then one line for each node with its type, instance, id, state, address, age, "
        "price and reason; then each kind of pending request, with the reason if nothing can be "
        "launched for it; then failures. shoal explain gives details.\n\nOn the head itself no "
        "FILE is needed.\n\nWith -o json the object has: cluster, shoal_version, ray_version, "
        "ray_address, autoscaler_state (active, standby, crash_looping, unknown), "
        "autoscaler_message, ray_autoscaler (Ray's own autoscaler manages the workers), "
        "min_workers_blocked, scale_up_blocked and scale_down_blocked (the reason, or empty), "
        "idle_stop (what keeps the cluster running, or when it stops; empty without that key), "
        "goal, stopped_workers, ray_nodes, desired_nodes, converged, waiting_for, "
        "waiting_for_lease, handover_serial, now_ms, ray_seen_ms, dollars_per_hour and "
        "max_dollars_per_hour (null: unknown, no limit), running_jobs (null: unknown), pending, "
        "unschedulable, demand_count, nodes (as in shoal up), demands (source, shape, labels, job, "
        "count, unschedulable, infeasible, reason, since_ms), ray_status (the text).",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the head answered, whatever the state of its nodes, 1 if not, 2 for a "
                   "usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct status_fields),
    .run = verb_status_run,
};
