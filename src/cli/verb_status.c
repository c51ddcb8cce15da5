/* verb_status.c: what the nodes of a cluster do. */
#include "cli/columns.h"
#include "cli/live/picture.h"
#include "cli/live/progress.h"
#include "cli/output.h"
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
    {"FILE", offsetof(struct status_fields, target.file), true, COMPLETE_FILE, NULL,
     "The cluster file. Without it: the cluster whose head this machine is."},
};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct status_fields),
    TARGET_PROFILE_OPTION(struct status_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct status_fields, output), "FORMAT", text_or_json,
     "text for people (the default) or json for programs."},
    {"watch", 'w', OPTION_FLAG, offsetof(struct status_fields, watch), NULL, NULL,
     "Go on until Ctrl-C: redrawn in place on a terminal, elsewhere a line for each change; with "
     "-o json an object a second."},
    {"address", 0, OPTION_TEXT, offsetof(struct status_fields, address), "ADDRESS", NULL,
     "Ray has this option for the address of its own server; the head's service is asked here, "
     "so it changes nothing."},
    TARGET_VERBOSE_OPTION(struct status_fields),
};

static const struct example examples[] = {
    {"shoal status cluster.yaml", "Every node: what it does, since when, and why."},
    {"shoal status --watch cluster.yaml", "The same, as it changes."},
    {"shoal status -o json cluster.yaml | jq '.nodes[] | select(.failure)'",
     "The nodes that have failed."},
};

/* ---- telling ---- */

struct watcher {
    const struct cli *cli;
    const struct status_fields *given;
    const struct config *config; /* NULL: on the head itself */
    struct arena memory;         /* of one round */
    struct talk_status said;
    struct str cluster, version;
    struct arena before_memory; /* of the nodes as they were told last */
    struct talk_status before;
    bool is_redrawn;
    int status;
};

static struct status_frame frame_of(const struct watcher *watcher)
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

static int tell(struct watcher *watcher)
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

/* In place: every line is cleared to its end, and the screen below the last one. */
static int redraw(struct watcher *watcher)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf out;
    struct status_frame frame = frame_of(watcher);
    struct screen_size screen = columns_of_screen(STDOUT_FILENO);
    buf_init(&text, OUTPUT_BYTES_MAX);
    buf_init(&out, OUTPUT_BYTES_MAX);
    status_text_add(&text, &watcher->memory, &watcher->said, &frame);
    if (count_lines(buf_str(&text)) >= screen.lines) { /* then rather our own words alone */
        text.len = 0;
        frame.has_ray_text = false;
        status_text_add(&text, &watcher->memory, &watcher->said, &frame);
    }
    struct str rest = buf_str(&text);
    buf_add_c(&out, "\033[H");
    for (size_t i = 1; rest.len > 0 && i < screen.lines; i++) {
        struct str line = str_cut(&rest, '\n');
        if (str_find_char(line, '\033') == SIZE_MAX) {
            columns_add(&out, line, screen.columns);
        } else {
            buf_add(&out, line); /* coloured ones are cut already */
        }
        buf_add_c(&out, "\033[K\n");
    }
    buf_add_c(&out, "\033[J");
    return output_write(watcher->cli, watcher->cli->out, &out);
}

static const struct node_view *find_before(const struct watcher *watcher, struct str name)
{
    for (size_t i = 0; i < watcher->before.node_count; i++) {
        if (str_eq(watcher->before.nodes[i].name, name)) {
            return &watcher->before.nodes[i];
        }
    }
    return NULL;
}

static void add_time(struct buf *out)
{
    time_t now = (time_t)(clock_wall_ms(&clock_of_machine) / 1000);
    struct tm parts = {0};
    localtime_r(&now, &parts);
    buf_addf(out, "%02d:%02d:%02d ", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/* In a pipe: a line for each node that does something else than before. */
static int tell_changes(struct watcher *watcher)
{
    AUTO_BUF struct buf out;
    const struct ctl_status *now = &watcher->said.status;
    const struct ctl_status *before = &watcher->before.status;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < watcher->said.node_count; i++) {
        const struct node_view *view = &watcher->said.nodes[i];
        if (picture_is_news(find_before(watcher, view->name), view)) {
            add_time(&out);
            picture_say_node(&out, view);
            buf_add_char(&out, '\n');
        }
    }
    if (!watcher->before.has_status || before->waiting != now->waiting ||
        before->unmet != now->unmet || before->joined != now->joined) {
        add_time(&out);
        buf_addf(&out, "%zu nodes joined, %lld requests wait, %lld of them cannot be met\n",
                 now->joined, (long long)now->waiting, (long long)now->unmet);
    }
    return output_write(watcher->cli, watcher->cli->out, &out);
}

/* What was told is kept for the next comparison. */
static void next_round(struct watcher *watcher)
{
    struct arena memory = watcher->before_memory;
    arena_clear(&memory);
    watcher->before_memory = watcher->memory;
    watcher->before = watcher->said;
    watcher->memory = memory;
    watcher->said = (struct talk_status){.cluster = watcher->cluster, .version = watcher->version};
}

static void take_line(void *context, const struct ctl_line *line)
{
    struct watcher *watcher = context;
    if (line->kind == CTL_GREETING) {
        watcher->cluster = arena_str(watcher->cli->arena, line->greeting.cluster);
        watcher->version = arena_str(watcher->cli->arena, line->greeting.version);
    }
    talk_status_take(&watcher->said, &watcher->memory, line);
}

static int64_t answered(void *context)
{
    struct watcher *watcher = context;
    if (!watcher->given->watch) {
        watcher->status = tell(watcher);
        return -1;
    }
    watcher->status = is_json(watcher->given) ? tell(watcher)
                      : watcher->is_redrawn   ? redraw(watcher)
                                              : tell_changes(watcher);
    fflush(watcher->cli->out);
    next_round(watcher);
    return watcher->status == 0 ? WATCH_MS : -1;
}

/* ---- asking ---- */

static bool ask(struct watcher *watcher, struct cloud_session *session,
                const struct ssh_place *place, struct err *err)
{
    static const struct talk_question questions[] = {
        {.request = {.what = {"status", 6}, .wants_all = true}},
        {.request = {.what = {"ray-status", 10}}, .is_optional = true},
    };
    bool watches_changes = watcher->given->watch && !watcher->is_redrawn &&
                           !is_json(watcher->given);
    return talk(&(struct talk_setup){.session = session,
                                     .place = place,
                                     .arena = watcher->cli->arena,
                                     .questions = questions,
                                     .question_count = watches_changes ? 1 : 2,
                                     .context = watcher,
                                     .line = take_line,
                                     .answered = answered},
                err);
}

static void open_watcher(struct watcher *watcher, const struct cli *cli,
                         const struct status_fields *given)
{
    *watcher = (struct watcher){.cli = cli, .given = given};
    arena_init(&watcher->memory);
    arena_init(&watcher->before_memory);
    watcher->is_redrawn = given->watch && !is_json(given) && progress_can_redraw(cli->out);
    if (watcher->is_redrawn) {
        fputs("\033[2J", cli->out);
    }
}

static void close_watcher(struct watcher *watcher)
{
    arena_clear(&watcher->memory);
    arena_clear(&watcher->before_memory);
}

/* Ctrl-C is the only way to end watching, and no failure. */
static bool is_ended(const struct watcher *watcher, const struct err *err)
{
    return watcher->given->watch && err->kind == ERR_CANCELLED;
}

static int ask_head(const struct cli *cli, const struct status_fields *given)
{
    struct target target;
    struct watcher watcher;
    struct launcher_head head;
    struct ssh_place place;
    struct err err = {0};
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    if (status == 0) {
        bool is_found = target_find(&target, &head, &place, &err);
        open_watcher(&watcher, &target.cli, given);
        watcher.config = target.config;
        bool ok = is_found && ask(&watcher, &target.session, &place, &err);
        status = ok || is_ended(&watcher, &err) ? watcher.status : target_fail(&target, &err);
        close_watcher(&watcher);
    }
    target_close(&target);
    return status;
}

/* On the head itself. */
static int ask_here(const struct cli *cli, const struct status_fields *given)
{
    struct cloud_session session;
    struct cloud_session_setup setup = {.least = LOG_LEVEL_WARNING};
    struct watcher watcher;
    struct err err;
    if (!cloud_session_open(&session, &setup, &err)) {
        return output_error(cli, &err);
    }
    open_watcher(&watcher, cli, given);
    int status = 0;
    if (ask(&watcher, &session, NULL, &err) || is_ended(&watcher, &err)) {
        status = watcher.status;
    } else {
        output_error(cli, &err);
        fputs("Without FILE this works on the head of a cluster; elsewhere: shoal status FILE\n",
              cli->err);
        status = cloud_session_exit_status(&session, &err);
    }
    close_watcher(&watcher);
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
        "Asks the service on the head of the cluster, by ssh. First comes what ray status prints "
        "there; then a line for each node: its type, machine and id, what it does now, its "
        "address, age and price, and why it is there or ends; then each kind of request that "
        "waits, with the reason if nothing will come for it; then what went wrong, if something "
        "did. shoal explain says more.\n\n"
        "On the head itself no FILE is needed.\n\n"
        "With -o json the object has: cluster, shoal_version, ray_version, ray_address, stance, "
        "launching and ending (why nothing is launched or ends; empty: it may), goal, joined, "
        "wanted, settled, now_ms, ray_seen_ms, dollars_per_hour and max_dollars_per_hour (null: "
        "not known, no limit), waiting, unmet, nodes (as in shoal up), demands (source, shape, "
        "labels, count, unmet, infeasible, why, since_ms), ray_status (the text).",
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
