/* failure.c: describes failed nodes. */
#include "cli/progress/failure.h"

#include "app/node_params.h"
#include "base/utf8.h"
#include "io/clock.h"

enum { AT_LENGTH_MAX = 3, NAMES_MAX = 20, TEXT_MAX = 8192, SAID_LINES_MAX = 12 };

static struct place failure_place_of(const struct failure_scene *scene,
                                     const struct node_view *view)
{
    struct place nowhere = {0};
    return view->failure.path.len > 0 && scene->tree
               ? node_params_place(scene->tree, view->failure.path)
               : nowhere;
}

/* Continuation lines are indented below the first. */
static void failure_add_row(struct buf *out, const char *name, struct str text, size_t lines_max)
{
    AUTO_BUF struct buf plain;
    size_t lines = 0;
    buf_init(&plain, TEXT_MAX + 1);
    utf8_add_unstyled(&plain, str_sub(str_trim(text), 0, TEXT_MAX));
    text = buf_str(&plain);
    while (text.len > 0 && lines < lines_max) {
        buf_addf(out, "  %-10s", lines++ == 0 ? name : "");
        utf8_add_visible(out, str_cut(&text, '\n'), false);
        buf_add_char(out, '\n');
    }
}

/* The last lines: the end of the output usually shows the error. */
static void add_last_rows(struct buf *out, const char *name, struct str text, size_t lines_max)
{
    struct str last = str_trim(text);
    size_t at = last.len;
    size_t lines = 0;
    while (at > 0 && lines < lines_max) {
        at--;
        lines += last.ptr[at] == '\n';
    }
    failure_add_row(out, name, str_sub(last, lines == lines_max ? at + 1 : 0, last.len), lines_max);
}

static void add_command(struct buf *out, const struct failure_scene *scene,
                        const struct node_view *view)
{
    struct place place = failure_place_of(scene, view);
    failure_add_row(out, "command", view->failure.command, SAID_LINES_MAX);
    if (place.line > 0 && place_is_users(place)) {
        buf_add_c(out, "  set in    ");
        utf8_add_visible(out, place.source->name, false);
        buf_addf(out, ":%u\n", place.line);
    }
}

/* If the price is known: the cost of the whole seconds since launch. */
static void add_cost(struct buf *out, const struct failure_scene *scene,
                     const struct node_view *view)
{
    enum { CENT = 10000, HOUR_S = 3600, SECOND_MS = 1000, CENTS = 100 };
    int64_t seconds = (scene->now_ms - view->requested_ms) / SECOND_MS;
    if (view->price <= 0 || view->requested_ms <= 0 || seconds <= 0 || seconds > INT32_MAX) {
        return;
    }
    int64_t cents = view->price * seconds / HOUR_S / CENT;
    if (cents == 0) {
        buf_add_c(out, "  cost      less than $0.01 so far\n");
    } else {
        buf_addf(out, "  cost      $%lld.%02lld so far\n", (long long)(cents / CENTS),
                 (long long)(cents % CENTS));
    }
}

/* A node that is kept for inspection: until when, and how to reach it. */
static void add_kept(struct buf *out, const struct failure_scene *scene,
                     const struct node_view *view)
{
    enum { CLOCK_FROM = 11, CLOCK_TO = 16 }; /* in "2026-11-15T08:15:56.123Z" */
    AUTO_BUF struct buf time;
    buf_init(&time, 64);
    if (view->kept_until_ms <= scene->now_ms) {
        return;
    }
    clock_add_utc(&time, view->kept_until_ms);
    buf_addf(out, "  kept      until %.*s UTC; open a shell: shoal attach %s ",
             STR_ARG(str_sub(buf_str(&time), CLOCK_FROM, CLOCK_TO)), scene->file);
    utf8_add_visible(out, view->name, false);
    buf_add_char(out, '\n');
}

static void failure_add_block(struct buf *out, const struct failure_scene *scene,
                              const struct node_view *view)
{
    const struct node_failure *failure = &view->failure;
    buf_addf(out, "%serror:%s ", scene->style.error, scene->style.reset);
    utf8_add_visible(out, view->name, false);
    if (view->id.len > 0) {
        buf_addf(out, " (%.*s%s%.*s)", STR_ARG(view->id), view->machine.len > 0 ? ", " : "",
                 STR_ARG(view->machine));
    }
    buf_add_c(out, " failed");
    if (failure->step.len > 0) {
        buf_add_c(out, " in ");
        utf8_add_visible(out, failure->step, false);
    }
    if (failure->status != 0) {
        buf_addf(out, " (exit status %d)", (int)failure->status);
    }
    buf_add_c(out, "\n\n");
    add_command(out, scene, view);
    add_last_rows(out, "output", failure->said, SAID_LINES_MAX);
    failure_add_row(out, "why", failure->why, SAID_LINES_MAX);
    buf_addf(out, "  %-10sshoal logs %s ", "log", scene->file);
    utf8_add_visible(out, view->name, false);
    buf_add_c(out, "     (whole output)\n");
    if (!str_is(view->reason, "its setup failed") && !str_eq(view->reason, failure->why)) {
        failure_add_row(out, "node", view->reason, 1); /* else the rows above say the same */
    }
    add_kept(out, scene, view);
    add_cost(out, scene, view);
    failure_add_row(out, "next", failure->next, SAID_LINES_MAX);
    buf_add_char(out, '\n');
}

/* ---- all failures ---- */

/* The same command at the same step: one cause, shown once. */
static bool failure_is_alike(const struct node_view *a, const struct node_view *b)
{
    const struct node_failure *x = &a->failure;
    const struct node_failure *y = &b->failure;
    return str_eq(x->step, y->step) && str_eq(x->path, y->path) && str_eq(x->command, y->command) &&
           x->status == y->status;
}

/* Selects the nodes that are described in detail. */
struct blocks {
    const struct node_view *of[AT_LENGTH_MAX];
    size_t count;
};

static bool has_block(const struct blocks *blocks, const struct node_view *view)
{
    for (size_t i = 0; i < blocks->count; i++) {
        if (blocks->of[i] == view) {
            return true;
        }
    }
    return false;
}

static bool needs_block(const struct blocks *blocks, const struct node_view *view)
{
    for (size_t i = 0; i < blocks->count; i++) {
        if (failure_is_alike(blocks->of[i], view)) {
            return false;
        }
    }
    return view->phase == PHASE_FAILED && blocks->count < AT_LENGTH_MAX;
}

static void add_others(struct buf *out, const struct failure_scene *scene,
                       const struct blocks *blocks)
{
    size_t named = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        if (view->phase != PHASE_FAILED || has_block(blocks, view)) {
            continue;
        }
        if (named < NAMES_MAX) {
            buf_add_c(out, named == 0 ? "Also failed: " : ", ");
            utf8_add_visible(out, view->name, false);
        }
        named++;
    }
    if (named > NAMES_MAX) {
        buf_addf(out, " and %zu more", named - NAMES_MAX);
    }
    buf_add_c(out, named > 0 ? ".\n\n" : "");
}

/* "The head and 2 workers are fine and running." */
static void add_fine(struct buf *out, const struct failure_scene *scene)
{
    bool is_head_fine = false;
    size_t workers = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        is_head_fine = is_head_fine || (view->is_head && view->phase == PHASE_READY);
        workers += !view->is_head && view->phase == PHASE_READY;
    }
    if (!is_head_fine && workers == 0) {
        return;
    }
    buf_add_c(out, is_head_fine ? "The head" : "");
    if (workers > 0) {
        buf_addf(out, "%s%zu worker%s", is_head_fine ? " and " : "", workers,
                 workers == 1 ? "" : "s");
    }
    buf_addf(out, " %s up and running. ", is_head_fine + workers == 1 ? "is" : "are");
}

static void add_advice(struct buf *out, const struct failure_scene *scene,
                       const struct node_view *first)
{
    struct place place = failure_place_of(scene, first);
    add_fine(out, scene);
    if (place.line > 0 && place_is_users(place)) {
        buf_addf(out, "Fix line %u of %s and run `shoal up %s` again", place.line, scene->file,
                 scene->file);
    } else {
        buf_addf(out, "To try again: `shoal up %s`", scene->file);
    }
    buf_addf(out, "; to remove everything and stop paying: `shoal down %s`.\n", scene->file);
}

void failure_print_all(struct buf *out, const struct failure_scene *scene)
{
    struct blocks blocks = {0};
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct node_view *view = &scene->nodes[i];
        if (needs_block(&blocks, view)) {
            blocks.of[blocks.count++] = view;
            failure_add_block(out, scene, view);
        }
    }
    if (blocks.count > 0) {
        add_others(out, scene, &blocks);
        add_advice(out, scene, blocks.of[0]);
    }
}
