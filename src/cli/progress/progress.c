/* progress.c: keeps the latest state and draws it. */
#include "cli/progress/progress.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/progress/render.h"
#include "io/xalloc.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SOON_MS = 40,   /* merges changes within this time into one redraw */
    TICK_MS = 1000, /* updates ages */
    NOTES_KEPT = 64,
    PICTURE_BYTES_MAX = 4 * 1024 * 1024,
    LINE_BYTES_MAX = 16 * 1024,
};

struct progress {
    struct progress_setup setup;
    struct arena arena;
    struct node_view *views;
    struct arena *texts; /* one per view, cleared when it changes */
    size_t node_count, node_capacity;
    struct buf things;
    struct str notes[NOTES_KEPT];
    size_t note_count;
    struct ctl_status status;
    struct arena status_texts;
    struct buf ray; /* last line printed about Ray */
    struct loop_timer *timer;
    struct loop_signal *resize;
    bool is_soon; /* the timer runs for a pending change */
    bool is_over;
    size_t *drawn; /* widths of the lines on screen */
    size_t drawn_count;
    struct arena drawn_texts;
};

bool progress_can_redraw(FILE *stream)
{
    const char *terminal = getenv("TERM");
    if (getenv("CI") || !terminal || strcmp(terminal, "dumb") == 0) {
        return false;
    }
    return isatty(fileno(stream)) == 1;
}

/* ---- the terminal ---- */

static struct picture picture_of(const struct progress *progress)
{
    return (struct picture){
        .cluster = progress->setup.cluster,
        .where = progress->setup.where,
        .account = progress->setup.account,
        .is_down = progress->setup.is_down,
        .things = buf_str(&progress->things),
        .nodes = progress->views,
        .node_count = progress->node_count,
        .notes = progress->notes,
        .note_count = progress->note_count,
        .status = progress->status,
        .now_ms = clock_wall_ms(progress->setup.clock),
    };
}

/* Ignores escape sequences. */
static size_t shown_width(struct str line)
{
    size_t width = 0;
    while (line.len > 0) {
        size_t plain = str_find_char(line, '\033');
        struct str piece = str_sub(line, 0, plain == SIZE_MAX ? line.len : plain);
        width += utf8_width(piece);
        line = str_sub(line, piece.len, line.len);
        size_t end = str_find_char(line, 'm');
        line = str_sub(line, end == SIZE_MAX ? line.len : end + 1, line.len);
    }
    return width;
}

/* If the terminal became narrower, it has wrapped lines that no longer fit. */
static size_t rows_on_screen(const struct progress *progress, size_t columns)
{
    size_t rows = 0;
    for (size_t i = 0; i < progress->drawn_count; i++) {
        size_t width = progress->drawn[i];
        rows += width > columns ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

static void remember_lines(struct progress *progress, struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text.ptr[i] == '\n';
    }
    arena_clear(&progress->drawn_texts);
    progress->drawn = ARENA_ARRAY(&progress->drawn_texts, count, size_t);
    progress->drawn_count = count;
    for (size_t i = 0; i < count; i++) {
        progress->drawn[i] = shown_width(str_cut(&text, '\n'));
    }
}

static void progress_draw(struct progress *progress)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf out;
    struct screen_size screen = columns_of_screen(fileno(progress->setup.out));
    struct picture picture = picture_of(progress);
    struct picture_frame frame = {screen.columns, screen.lines, progress->setup.colour};
    buf_init(&text, PICTURE_BYTES_MAX);
    buf_init(&out, PICTURE_BYTES_MAX);
    picture_draw(&text, &picture, &frame);
    size_t rows = rows_on_screen(progress, screen.columns);
    if (rows > 0) {
        buf_addf(&out, "\033[%zuA", rows);
    }
    buf_add_char(&out, '\r');
    for (struct str rest = buf_str(&text); rest.len > 0;) {
        buf_add(&out, str_cut(&rest, '\n'));
        buf_add_c(&out, "\033[K\n");
    }
    buf_add_c(&out, "\033[J");
    fwrite(out.ptr, 1, out.len, progress->setup.out);
    fflush(progress->setup.out);
    remember_lines(progress, buf_str(&text));
}

void progress_print(struct progress *progress, struct str text)
{
    FILE *out = progress->setup.out;
    size_t rows = rows_on_screen(progress, columns_of_screen(fileno(out)).columns);
    if (rows > 0) {
        fprintf(out, "\033[%zuA\r\033[J", rows);
        progress->drawn_count = 0;
    }
    fwrite(text.ptr, 1, text.len, out);
    fflush(out);
}

static void progress_on_timer(void *context)
{
    struct progress *progress = context;
    progress->is_soon = false;
    progress_draw(progress);
    loop_timer_start(progress->timer, TICK_MS);
}

static void progress_changed(struct progress *progress)
{
    if (progress->timer && !progress->is_soon && !progress->is_over) {
        progress->is_soon = true;
        loop_timer_start(progress->timer, SOON_MS);
    }
}

static void progress_on_resize(void *context, int number)
{
    (void)number;
    progress_changed(context);
}

/* ---- plain lines ---- */

static void progress_send(const struct progress *progress, struct str text)
{
    AUTO_BUF struct buf line;
    time_t now = (time_t)(clock_wall_ms(progress->setup.clock) / 1000);
    struct tm parts;
    char stamp[16] = "";
    buf_init(&line, LINE_BYTES_MAX);
    if (localtime_r(&now, &parts)) {
        strftime(stamp, sizeof(stamp), "%H:%M:%S", &parts);
    }
    utf8_add_visible(&line, str_sub(text, 0, LINE_BYTES_MAX / 4), false);
    fprintf(progress->setup.out, "%s %.*s\n", stamp, STR_ARG(buf_str(&line)));
    fflush(progress->setup.out);
}

static void say_node(const struct progress *progress, const struct node_view *view)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    picture_say_node(&line, view);
    progress_send(progress, buf_str(&line));
}

/* ---- updates ---- */

static struct str progress_save(struct arena *arena, struct str text)
{
    return arena_str(arena, text);
}

/* NULL if it is new. The name of a terminated node may be reused with another id. */
static struct node_view *progress_find(const struct progress *progress,
                                       const struct node_view *view, size_t *ret_index)
{
    for (size_t i = 0; i < progress->node_count; i++) {
        if (str_eq(progress->views[i].name, view->name)) {
            *ret_index = i;
            return &progress->views[i];
        }
    }
    return NULL;
}

static size_t progress_add_node(struct progress *progress)
{
    size_t capacity = progress->node_capacity;
    ARENA_GROW(&progress->arena, progress->views, progress->node_count, capacity);
    ARENA_GROW(&progress->arena, progress->texts, progress->node_count, progress->node_capacity);
    arena_init(&progress->texts[progress->node_count]);
    return progress->node_count++;
}

/* During `down`, only nodes that are terminating, terminated or failed are shown. */
static bool is_told(const struct progress *progress, const struct node_view *view)
{
    return !progress->setup.is_down || view->phase == PHASE_TERMINATING ||
           view->phase == PHASE_TERMINATED || view->phase == PHASE_FAILED;
}

/* Clocks of machines differ: a phase that started before its node was requested is counted from
 * when we learned of it. */
static int64_t since_of(const struct progress *progress, const struct node_view *before,
                        const struct node_view *view)
{
    if (view->since_ms > view->requested_ms) {
        return view->since_ms;
    }
    return before && before->phase == view->phase ? before->since_ms
                                                  : clock_wall_ms(progress->setup.clock);
}

void progress_node(struct progress *progress, const struct node_view *view)
{
    size_t index = 0;
    struct arena fresh;
    struct node_view *before = progress_find(progress, view, &index);
    bool is_news = picture_is_news(before, view) && is_told(progress, view);
    int64_t since_ms = since_of(progress, before, view);
    if (!before) {
        index = progress_add_node(progress);
    }
    arena_init(&fresh);
    progress->views[index] = node_view_copy(&fresh, view);
    progress->views[index].since_ms = since_ms;
    arena_clear(&progress->texts[index]);
    progress->texts[index] = fresh;
    if (progress->setup.is_live) {
        progress_changed(progress);
    } else if (is_news && !progress->is_over) {
        say_node(progress, &progress->views[index]);
    }
}

void progress_account(struct progress *progress, struct str account)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    buf_addf(&line, "account %.*s", STR_ARG(account));
    if (progress->setup.is_live) {
        progress->setup.account = progress_save(&progress->arena, buf_str(&line));
        progress_changed(progress);
    } else {
        progress_send(progress, buf_str(&line));
    }
}

void progress_thing(struct progress *progress, const struct provider_resource *thing)
{
    AUTO_BUF struct buf line;
    const char *done = progress->setup.is_down ? "removed" : "created";
    buf_init(&line, LINE_BYTES_MAX);
    buf_addf(&progress->things, "%s%.*s %.*s", progress->things.len > 0 ? ", " : "",
             STR_ARG(thing->kind), STR_ARG(thing->id));
    buf_addf(&line, "%s %.*s %.*s", done, STR_ARG(thing->kind), STR_ARG(thing->id));
    if (progress->setup.is_live) {
        progress_changed(progress);
    } else {
        progress_send(progress, buf_str(&line));
    }
}

void progress_note(struct progress *progress, struct str text)
{
    if (progress->note_count == NOTES_KEPT) {
        memmove(progress->notes, progress->notes + 1, (NOTES_KEPT - 1) * sizeof(*progress->notes));
        progress->note_count--;
    }
    progress->notes[progress->note_count++] = progress_save(&progress->arena, text);
    if (progress->setup.is_live) {
        progress_changed(progress);
    } else {
        progress_send(progress, text);
    }
}

void progress_status(struct progress *progress, const struct ctl_status *status)
{
    AUTO_BUF struct buf ray;
    struct arena fresh;
    arena_init(&fresh);
    struct ctl_status copy = *status;
    fields_copy(&ctl_status_table, &fresh, &copy);
    progress->status = copy;
    arena_clear(&progress->status_texts);
    progress->status_texts = fresh;
    buf_init(&ray, LINE_BYTES_MAX);
    struct picture picture = picture_of(progress);
    picture_say_ray(&ray, &picture);
    bool is_news = ray.len > 0 && !str_eq(buf_str(&ray), buf_str(&progress->ray));
    if (progress->setup.is_live) {
        progress_changed(progress);
    } else if (is_news) {
        progress_send(progress, buf_str(&ray));
    }
    progress->ray.len = 0;
    buf_add(&progress->ray, buf_str(&ray));
}

/* ---- life cycle ---- */

struct progress *progress_new(const struct progress_setup *setup)
{
    struct progress *progress = HEAP_NEW(struct progress);
    struct err err;
    progress->setup = *setup;
    arena_init(&progress->arena);
    arena_init(&progress->status_texts);
    arena_init(&progress->drawn_texts);
    buf_init(&progress->things, LINE_BYTES_MAX);
    buf_init(&progress->ray, LINE_BYTES_MAX);
    progress->setup.cluster = progress_save(&progress->arena, setup->cluster);
    progress->setup.where = progress_save(&progress->arena, setup->where);
    if (setup->is_live && setup->loop) {
        progress->timer = loop_timer_new(setup->loop, progress_on_timer, progress);
        /* Without the signal, the picture is redrawn a second later. */
        if (!loop_signal_new(setup->loop, SIGWINCH, progress_on_resize, progress, &progress->resize,
                             &err)) {
            progress->resize = NULL;
        }
    }
    return progress;
}

static void stop_drawing(struct progress *progress)
{
    if (progress->timer) {
        loop_timer_free(progress->timer);
        progress->timer = NULL;
    }
    if (progress->resize) {
        loop_signal_free(progress->resize);
        progress->resize = NULL;
    }
}

void progress_end(struct progress *progress)
{
    bool was_shown = progress->node_count > 0 || progress->things.len > 0 ||
                     progress->note_count > 0;
    stop_drawing(progress);
    if (progress->setup.is_live && !progress->is_over && was_shown) {
        progress_draw(progress);
    }
    progress->is_over = true;
}

const struct node_view *progress_nodes(const struct progress *progress, size_t *ret_count)
{
    *ret_count = progress->node_count;
    return progress->views;
}

void progress_free(struct progress *progress)
{
    if (!progress) {
        return;
    }
    stop_drawing(progress);
    for (size_t i = 0; i < progress->node_count; i++) {
        arena_clear(&progress->texts[i]);
    }
    buf_clear(&progress->things);
    buf_clear(&progress->ray);
    arena_clear(&progress->arena);
    arena_clear(&progress->status_texts);
    arena_clear(&progress->drawn_texts);
    free(progress);
}
