/* render.c: formats the lines of a picture. */
#include "cli/progress/render.h"

#include "base/utf8.h"
#include "cli/columns.h"
#include "provider/price.h"

#include <string.h>

#define ANSI_RED "\033[1;31m"
#define ANSI_GREEN "\033[32m"
#define ANSI_YELLOW "\033[33m"
#define ANSI_DIM "\033[2m"
#define ANSI_RESET "\033[0m"

enum {
    GAP = 2,
    INDENT = 2,
    ID_SHORT = 7,        /* "i-0f2ab" */
    ID_WHOLE_FROM = 118, /* from this width on, ids are not shortened */
    DETAIL_MIN = 12,     /* minimum width of a useful detail */
    MACHINE_MAX = 16,
    PLACE_MAX = 39,
    NOTES_MAX = 6,
    GROUPS_MAX = PHASE_COUNT,
    FRAME_LINES = 7, /* besides nodes and notes: header, blank lines, resources, Ray */
    WORD_BYTES = 1024,
};

/* The widths of the columns before the details. */
struct layout {
    size_t name, id, machine, place, phase, age;
};

struct render_drawing {
    struct buf *out;
    const struct picture *picture;
    const struct picture_frame *frame;
    struct layout layout;
};

static size_t render_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t render_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- text about one node ---- */

static const char *render_colour_of(enum node_phase phase)
{
    if (phase == PHASE_READY) {
        return ANSI_GREEN;
    }
    if (phase == PHASE_FAILED) {
        return ANSI_RED;
    }
    return phase == PHASE_TERMINATING ? ANSI_YELLOW : "";
}

static void add_phase(struct buf *out, const struct node_view *view)
{
    buf_add_c(out, node_phase_text(view->phase));
    if (view->phase == PHASE_SETTING_UP && view->step > 0) {
        buf_addf(out, " %zu/%zu", view->step, view->steps);
    }
}

static struct str address_of(const struct node_view *view)
{
    return view->public_ip.len > 0 ? view->public_ip : view->private_ip;
}

/* The address for the head, the market for workers. */
static struct str render_place_of(const struct node_view *view)
{
    if (view->is_head) {
        return address_of(view);
    }
    return view->is_spot ? STR("spot") : STR("");
}

static bool render_is_over(enum node_phase phase)
{
    return phase == PHASE_READY || phase == PHASE_FAILED || phase == PHASE_TERMINATED;
}

/* How long it took, or is taking. */
static int64_t render_age_of(const struct node_view *view, int64_t now_ms)
{
    int64_t until = render_is_over(view->phase) ? view->since_ms : now_ms;
    int64_t from = view->phase == PHASE_TERMINATING ? view->since_ms : view->requested_ms;
    return from > 0 && until > from ? until - from : 0;
}

static struct str detail_of(const struct node_view *view)
{
    const struct node_failure *failure = &view->failure;
    if (view->phase == PHASE_FAILED) {
        return failure->step.len > 0 ? failure->step : failure->said;
    }
    if (view->phase == PHASE_TERMINATING || view->phase == PHASE_TERMINATED) {
        return view->reason;
    }
    return view->phase == PHASE_READY ? STR("") : view->detail;
}

/* ---- columns ---- */

static size_t render_width_of(void (*add)(struct buf *, const struct node_view *),
                              const struct node_view *view)
{
    AUTO_BUF struct buf text;
    buf_init(&text, WORD_BYTES);
    add(&text, view);
    return utf8_width(buf_str(&text));
}

static void render_lay_out(struct render_drawing *drawing)
{
    struct layout *layout = &drawing->layout;
    bool has_room = drawing->frame->columns >= ID_WHOLE_FROM;
    *layout = (struct layout){.name = strlen("created"), .age = strlen("100s")};
    for (size_t i = 0; i < drawing->picture->node_count; i++) {
        const struct node_view *view = &drawing->picture->nodes[i];
        size_t id = utf8_width(view->id);
        layout->name = render_larger(layout->name, utf8_width(view->name));
        layout->id = render_larger(layout->id, has_room ? id : render_smaller(id, ID_SHORT));
        layout->machine = render_larger(layout->machine, utf8_width(view->machine));
        layout->place = render_larger(layout->place, utf8_width(render_place_of(view)));
        layout->phase = render_larger(layout->phase, render_width_of(add_phase, view));
    }
    layout->machine = render_smaller(layout->machine, MACHINE_MAX);
    layout->place = render_smaller(layout->place, PLACE_MAX);
    layout->name = render_smaller(layout->name, drawing->frame->columns / 3);
    /* A narrow screen omits columns that `status` also shows. */
    size_t needed = INDENT + layout->name + GAP + layout->phase + GAP + layout->age;
    size_t *spare[] = {&layout->place, &layout->machine, &layout->id};
    for (size_t i = 0; i < ARRAY_LEN(spare); i++) {
        needed += *spare[i] > 0 ? *spare[i] + GAP : 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(spare) && needed >= drawing->frame->columns; i++) {
        needed -= *spare[i] > 0 ? *spare[i] + GAP : 0;
        *spare[i] = 0;
    }
}

/* A line is built without colours in its own buffer, so that it can be truncated. */
static void render_add_cell(struct buf *line, struct str text, size_t width)
{
    if (width > 0) {
        columns_add_padded(line, text, width);
        buf_add_spaces(line, GAP);
    }
}

static struct str without_end_blanks(struct str text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == ' ') {
        text.len--;
    }
    return text;
}

/* The last screen column stays free: a full line would wrap on some terminals. */
static void end_line(const struct render_drawing *drawing, const struct buf *line)
{
    struct str text = without_end_blanks(buf_str(line));
    size_t indent = 0;
    while (indent < text.len && text.ptr[indent] == ' ') {
        indent++;
    }
    size_t room = drawing->frame->columns > indent + 1 ? drawing->frame->columns - indent - 1 : 0;
    buf_add_spaces(drawing->out, room > 0 ? indent : 0);
    columns_add(drawing->out, str_sub(text, indent, text.len), room);
    buf_add_char(drawing->out, '\n');
}

static void add_coloured(const struct render_drawing *drawing, struct buf *line, const char *colour)
{
    bool has_colour = drawing->frame->colour && *colour;
    buf_add_c(drawing->out, has_colour ? colour : "");
    end_line(drawing, line);
    if (has_colour) {
        drawing->out->len--; /* the colour reset must come before the newline */
        buf_add_c(drawing->out, ANSI_RESET "\n");
    }
}

static void draw_node(const struct render_drawing *drawing, const struct node_view *view)
{
    const struct layout *layout = &drawing->layout;
    AUTO_BUF struct buf line;
    AUTO_BUF struct buf word;
    buf_init(&line, WORD_BYTES * 8);
    buf_init(&word, WORD_BYTES);
    buf_add_spaces(&line, INDENT);
    render_add_cell(&line, view->name, layout->name);
    render_add_cell(&line, view->id, layout->id);
    render_add_cell(&line, view->machine, layout->machine);
    render_add_cell(&line, render_place_of(view), layout->place);
    add_phase(&word, view);
    render_add_cell(&line, buf_str(&word), layout->phase);
    word.len = 0;
    columns_add_age(&word, render_age_of(view, drawing->picture->now_ms));
    buf_add_spaces(&line, layout->age > word.len ? layout->age - word.len : 0);
    buf_add(&line, buf_str(&word));
    if (utf8_width(buf_str(&line)) + DETAIL_MIN < drawing->frame->columns) {
        buf_add_spaces(&line, GAP);
        utf8_add_visible(&line, str_sub(detail_of(view), 0, WORD_BYTES), false);
    }
    add_coloured(drawing, &line, render_colour_of(view->phase));
}

/* Draws the head, or all workers in order of first appearance. */
static void draw_all(const struct render_drawing *drawing, bool is_head)
{
    for (size_t i = 0; i < drawing->picture->node_count; i++) {
        if (drawing->picture->nodes[i].is_head == is_head) {
            draw_node(drawing, &drawing->picture->nodes[i]);
        }
    }
}

/* ---- many nodes ---- */

struct render_group {
    size_t count;
    const struct node_view *oldest; /* the oldest node in this phase */
};

static void draw_group(const struct render_drawing *drawing, enum node_phase phase,
                       const struct render_group *group)
{
    AUTO_BUF struct buf line;
    const struct node_view *oldest = group->oldest;
    buf_init(&line, WORD_BYTES * 8);
    buf_addf(&line, "  %6zu %s  %s", group->count, group->count == 1 ? "node " : "nodes",
             node_phase_text(phase));
    if (!render_is_over(phase)) {
        buf_add_c(&line, ", the slowest for ");
        columns_add_age(&line, render_age_of(oldest, drawing->picture->now_ms));
        buf_addf(&line, ": %.*s", STR_ARG(oldest->name));
        if (detail_of(oldest).len > 0) {
            buf_add_c(&line, "  ");
            utf8_add_visible(&line, str_sub(detail_of(oldest), 0, WORD_BYTES), false);
        }
    }
    add_coloured(drawing, &line, render_colour_of(phase));
}

/* The head and nodes that need attention by name, the others grouped by phase. */
static void draw_groups(const struct render_drawing *drawing, size_t room)
{
    const struct picture *picture = drawing->picture;
    struct render_group groups[GROUPS_MAX] = {0};
    size_t named = 0;
    size_t named_max = room > GROUPS_MAX + 1 ? room - GROUPS_MAX : 1;
    for (size_t i = 0; i < picture->node_count; i++) {
        const struct node_view *view = &picture->nodes[i];
        struct render_group *group = &groups[view->phase];
        if ((view->is_head || view->phase == PHASE_FAILED) && named < named_max) {
            draw_node(drawing, view);
            named++;
            continue;
        }
        group->count++;
        if (!group->oldest || view->requested_ms < group->oldest->requested_ms) {
            group->oldest = view;
        }
    }
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        if (groups[i].count > 0) {
            draw_group(drawing, (enum node_phase)i, &groups[i]);
        }
    }
}

/* ---- header and footer ---- */

static void render_add_price(struct buf *out, const struct picture *picture)
{
    int64_t sum = 0;
    bool is_whole = true;
    size_t counted = 0;
    for (size_t i = 0; i < picture->node_count; i++) {
        const struct node_view *view = &picture->nodes[i];
        if (view->phase == PHASE_TERMINATED || view->id.len == 0) {
            continue;
        }
        counted++;
        is_whole = is_whole && view->price != PRICE_UNKNOWN;
        sum += view->price != PRICE_UNKNOWN ? view->price : 0;
    }
    if (counted > 0) {
        columns_add_hourly(out, sum, is_whole);
    }
}

static void render_draw_header(const struct render_drawing *drawing)
{
    const struct picture *picture = drawing->picture;
    AUTO_BUF struct buf left;
    AUTO_BUF struct buf price;
    buf_init(&left, WORD_BYTES * 4);
    buf_init(&price, WORD_BYTES);
    buf_add_c(&left, "Cluster ");
    utf8_add_visible(&left, str_sub(picture->cluster, 0, WORD_BYTES), false);
    buf_add_c(&left, "   ");
    utf8_add_visible(&left, str_sub(picture->where, 0, WORD_BYTES), false);
    if (picture->account.len > 0) {
        buf_add_c(&left, "   ");
        utf8_add_visible(&left, str_sub(picture->account, 0, WORD_BYTES), false);
    }
    render_add_price(&price, picture);
    enum { RIGHT = 78 };
    size_t right = render_smaller(RIGHT, drawing->frame->columns - 1);
    size_t used = utf8_width(buf_str(&left));
    buf_add_spaces(&left, used + price.len + GAP < right ? right - used - price.len : GAP);
    buf_add(&left, buf_str(&price));
    end_line(drawing, &left);
    buf_add_char(drawing->out, '\n');
}

static void draw_things(const struct render_drawing *drawing)
{
    const struct picture *picture = drawing->picture;
    AUTO_BUF struct buf line;
    buf_init(&line, WORD_BYTES * 8);
    if (picture->things.len == 0) {
        return;
    }
    buf_add_spaces(&line, INDENT);
    render_add_cell(&line, picture->is_down ? STR("removed") : STR("created"),
                    drawing->layout.name);
    utf8_add_visible(&line, str_sub(picture->things, 0, WORD_BYTES * 2), false);
    end_line(drawing, &line);
}

static struct str host_of(struct str address)
{
    struct str rest = address;
    size_t colons = 0;
    for (size_t i = 0; i < address.len; i++) {
        colons += address.ptr[i] == ':';
    }
    return colons == 1 ? str_cut(&rest, ':') : address;
}

void picture_say_ray(struct buf *out, const struct picture *picture)
{
    const struct ctl_status *status = &picture->status;
    struct str address = host_of(status->ray_address);
    if (picture->is_down || status->ray_version.len == 0) {
        return;
    }
    for (size_t i = 0; i < picture->node_count; i++) {
        const struct node_view *view = &picture->nodes[i];
        if (view->is_head && view->public_ip.len > 0) {
            address = view->public_ip;
        }
    }
    buf_addf(out, "Ray %.*s on %.*s: %zu", STR_ARG(status->ray_version), STR_ARG(address),
             status->joined);
    if (status->joined <= status->wanted) { /* a busy cluster has more than min_workers */
        buf_addf(out, " of %zu", status->wanted);
    }
    size_t counted = status->joined > status->wanted ? status->joined : status->wanted;
    buf_addf(out, " node%s joined.", counted == 1 ? "" : "s");
}

static void draw_notes(const struct render_drawing *drawing)
{
    const struct picture *picture = drawing->picture;
    size_t from = picture->note_count > NOTES_MAX ? picture->note_count - NOTES_MAX : 0;
    for (size_t i = from; i < picture->note_count; i++) {
        AUTO_BUF struct buf line;
        buf_init(&line, WORD_BYTES * 8);
        utf8_add_visible(&line, str_sub(picture->notes[i], 0, WORD_BYTES), false);
        add_coloured(drawing, &line, ANSI_DIM);
    }
}

void picture_draw(struct buf *out, const struct picture *picture, const struct picture_frame *frame)
{
    struct render_drawing drawing = {out, picture, frame, {0}};
    AUTO_BUF struct buf ray;
    buf_init(&ray, WORD_BYTES);
    render_lay_out(&drawing);
    render_draw_header(&drawing);
    draw_things(&drawing);
    size_t others = FRAME_LINES + render_smaller(picture->note_count, NOTES_MAX);
    size_t room = frame->lines > others ? frame->lines - others : 1;
    if (picture->node_count <= room) {
        draw_all(&drawing, true);
        draw_all(&drawing, false);
    } else {
        draw_groups(&drawing, room);
    }
    picture_say_ray(&ray, picture);
    if (ray.len > 0 || picture->note_count > 0) {
        buf_add_char(out, '\n');
    }
    draw_notes(&drawing);
    if (ray.len > 0) {
        end_line(&drawing, &ray);
    }
}

/* ---- one line per change ---- */

bool picture_is_news(const struct node_view *before, const struct node_view *now)
{
    if (!before || before->phase != now->phase || before->step != now->step) {
        return true;
    }
    /* While connecting, a new message of ssh is shown too. */
    return now->phase == PHASE_CONNECTING && now->detail.len > 0 &&
           !str_eq(before->detail, now->detail);
}

static void add_tail(struct buf *out, const char *mark, struct str text)
{
    if (text.len > 0) {
        buf_add_c(out, mark);
        utf8_add_visible(out, str_cut(&text, '\n'), false);
    }
}

void picture_say_node(struct buf *out, const struct node_view *view)
{
    const struct node_failure *failure = &view->failure;
    utf8_add_visible(out, view->name, false);
    buf_addf(out, " %s", node_phase_text(view->phase));
    switch (view->phase) {
    case PHASE_REQUESTED:
    case PHASE_BOOTING:
        add_tail(out, ": ", view->machine);
        add_tail(out, view->machine.len > 0 ? " " : ": ", view->id);
        break;
    case PHASE_CONNECTING:
        add_tail(out, ": ", address_of(view));
        add_tail(out, ": ", view->detail);
        break;
    case PHASE_SETTING_UP:
        if (view->step > 0) {
            buf_addf(out, " %zu of %zu", view->step, view->steps);
        }
        add_tail(out, ": ", view->detail);
        break;
    case PHASE_READY:
        buf_add_c(out, " after ");
        columns_add_age(out, render_age_of(view, view->since_ms));
        break;
    case PHASE_FAILED:
        add_tail(out, " in ", failure->step);
        add_tail(out, ": ", failure->command.len > 0 ? failure->command : failure->said);
        break;
    case PHASE_TERMINATING:
    case PHASE_TERMINATED:
        add_tail(out, ": ", view->reason);
        break;
    case PHASE_COPYING:
    case PHASE_WAITING:
    case PHASE_STARTING:
    case PHASE_JOINING:
    case PHASE_COUNT:
        add_tail(out, ": ", view->detail);
        break;
    }
}
