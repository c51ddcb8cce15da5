/* display.c: passes launcher events to the progress display and prints the text below it. */
#include "cli/progress/display.h"

#include "app/preflight_text.h"
#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/progress/failure.h"
#include "provider/price.h"

#include <string.h>

enum { WORDS_BYTES_MAX = 1024 * 1024, NAMES_MAX = 8 };

/* ---- hooks ---- */

static void display_on_account(void *context, struct str account)
{
    const struct show *show = context;
    progress_account(show->progress, account);
}

static void display_on_findings(void *context, const struct finding *findings, size_t count)
{
    struct show *show = context;
    AUTO_BUF struct buf out;
    struct diag_style style = output_style(show->target->cli.colour_err);
    buf_init(&out, WORDS_BYTES_MAX);
    preflight_text_problems(&out, findings, count, show->target->config->tree, &style);
    progress_print(show->progress, buf_str(&out));
}

static void note_kind(struct show *show, struct str kind)
{
    for (size_t i = 0; i < show->thing_kind_count; i++) {
        if (str_eq(show->thing_kinds[i], kind)) {
            return;
        }
    }
    if (show->thing_kind_count < ARRAY_LEN(show->thing_kinds)) {
        show->thing_kinds[show->thing_kind_count++] = arena_str(show->target->cli.arena, kind);
    }
}

static void on_thing(void *context, const struct provider_resource *thing, bool is_made)
{
    struct show *show = context;
    if (is_made || show->is_down) {
        progress_thing(show->progress, thing);
        show->thing_count++;
        note_kind(show, thing->kind);
    }
}

static void display_on_node(void *context, const struct node_view *view)
{
    struct show *show = context;
    progress_node(show->progress, view);
}

static void on_status(void *context, const struct ctl_status *status)
{
    struct show *show = context;
    progress_status(show->progress, status);
}

static void on_note(void *context, struct str text)
{
    struct show *show = context;
    progress_note(show->progress, text);
}

void show_open(struct show *show, struct target *target, bool is_down)
{
    const char *style = target->given->log_style;
    bool is_record = style && strcmp(style, "record") == 0;
    struct progress_setup setup = {
        .out = target->cli.err,
        .is_live = !is_record && progress_can_redraw(target->cli.err),
        .colour = target->cli.colour_err,
        .is_down = is_down,
        .cluster = target->config->cluster_name,
        .where = target_where(target),
        .clock = &clock_of_machine,
        .loop = target->session.loop,
    };
    *show = (struct show){.target = target, .is_down = is_down};
    show->progress = progress_new(&setup);
    target->setup.hooks = (struct launcher_hooks){
        .context = show,
        .account = display_on_account,
        .findings = display_on_findings,
        .thing = on_thing,
        .node = display_on_node,
        .status = on_status,
        .note = on_note,
    };
}

/* ---- finishing ---- */

size_t show_end(struct show *show)
{
    AUTO_BUF struct buf out;
    size_t failed = 0;
    struct failure_scene scene = {
        .file = target_text(show->target).ptr,
        .tree = show->target->config->tree,
        .now_ms = clock_wall_ms(&clock_of_machine),
        .style = output_style(show->target->cli.colour_err),
    };
    buf_init(&out, WORDS_BYTES_MAX);
    progress_end(show->progress);
    scene.nodes = progress_nodes(show->progress, &scene.node_count);
    for (size_t i = 0; i < scene.node_count; i++) {
        failed += scene.nodes[i].phase == PHASE_FAILED;
    }
    if (failed > 0) {
        buf_add_char(&out, '\n');
        failure_print_all(&out, &scene);
        output_print(show->target->cli.err, buf_str(&out));
    }
    return failed;
}

void show_left(struct show *show)
{
    AUTO_BUF struct buf out;
    size_t count;
    size_t left = 0;
    int64_t sum = 0;
    bool is_whole = true;
    struct str words = target_text(show->target);
    const struct node_view *nodes = progress_nodes(show->progress, &count);
    buf_init(&out, WORDS_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct node_view *view = &nodes[i];
        if (view->id.len == 0 || view->phase == PHASE_TERMINATED) {
            continue;
        }
        if (left++ < NAMES_MAX) {
            buf_addf(&out, "%s%.*s (%.*s)", left > 1 ? ", " : "Left running: ", STR_ARG(view->name),
                     STR_ARG(view->id));
        }
        is_whole = is_whole && view->price != PRICE_UNKNOWN;
        sum += view->price != PRICE_UNKNOWN ? view->price : 0;
    }
    if (left == 0 && count == 0) {
        return; /* nothing was started */
    }
    if (left > NAMES_MAX) {
        buf_addf(&out, " and %zu more", left - NAMES_MAX);
    }
    if (left > 0) {
        buf_add_c(&out, ", ");
        columns_add_hourly(&out, sum, is_whole);
        buf_add_c(&out, ".\n");
    }
    buf_addf(&out, "`shoal %s %.*s` continues where it stopped%s%.*s%s\n",
             show->is_down ? "down" : "up", STR_ARG(words), show->is_down ? "" : "; `shoal down ",
             show->is_down ? 0 : (int)words.len, words.ptr,
             show->is_down ? "." : "` removes everything.");
    output_print(show->target->cli.err, buf_str(&out));
}

void show_close(struct show *show)
{
    progress_free(show->progress);
    show->progress = NULL;
    show->target->setup.hooks = (struct launcher_hooks){0};
}
