/* top_line.c: draws text, blanks and bars. */
#include "cli/top/top_line.h"

#include "base/utf8.h"
#include "cli/columns.h"

#include <math.h>

static size_t room_of(const struct top_line *pen)
{
    return pen->columns > pen->used ? pen->columns - pen->used : 0;
}

static bool has_style(const struct top_line *pen, const char *style)
{
    return pen->colour && *style;
}

void top_line_text(struct top_line *pen, const char *style, struct str text)
{
    size_t room = room_of(pen);
    if (room == 0 || text.len == 0) {
        return;
    }
    buf_add_c(pen->out, has_style(pen, style) ? style : "");
    pen->used += columns_add(pen->out, text, room);
    buf_add_c(pen->out, has_style(pen, style) ? TOP_RESET : "");
}

void top_line_c(struct top_line *pen, const char *style, const char *text)
{
    top_line_text(pen, style, str_from(text));
}

void top_line_gap(struct top_line *pen, size_t columns)
{
    size_t room = room_of(pen);
    size_t wide = columns < room ? columns : room;
    buf_add_spaces(pen->out, wide);
    pen->used += wide;
}

void top_line_cell(struct top_line *pen, const char *style, struct str text, size_t width,
                   bool is_right)
{
    AUTO_BUF struct buf cell;
    buf_init(&cell, 4096);
    size_t room = room_of(pen);
    size_t wide = columns_add(&cell, text, width < room ? width : room);
    top_line_gap(pen, is_right ? width - wide : 0);
    top_line_text(pen, style, buf_str(&cell));
    top_line_gap(pen, is_right ? 0 : width - wide);
}

void top_line_go_right(struct top_line *pen, size_t width)
{
    if (pen->used + width < pen->columns) {
        top_line_gap(pen, pen->columns - pen->used - width);
    }
}

/* Resolution of an eighth of a column; any value above zero is visible. */
static size_t eighths_of(double used, double total, size_t width)
{
    double share = total > 0 && used > 0 ? used / total : 0;
    size_t most = width * 8;
    size_t eighths = share >= 1 ? most : (size_t)floor(share * (double)most);
    return eighths == 0 && share > 0 && most > 0 ? 1 : eighths;
}

void top_line_bar(struct top_line *pen, const char *style, double used, double total, size_t width)
{
    static const char *const parts[] = {"",
                                        "\xe2\x96\x8f",
                                        "\xe2\x96\x8e",
                                        "\xe2\x96\x8d",
                                        "\xe2\x96\x8c",
                                        "\xe2\x96\x8b",
                                        "\xe2\x96\x8a",
                                        "\xe2\x96\x89"};
    size_t room = room_of(pen);
    size_t wide = width < room ? width : room;
    size_t eighths = eighths_of(used, total, wide);
    size_t drawn = (eighths + 7) / 8;
    buf_add_c(pen->out, has_style(pen, style) ? style : "");
    for (size_t i = 0; i < eighths / 8; i++) {
        buf_add_c(pen->out, "\xe2\x96\x88");
    }
    buf_add_c(pen->out, parts[eighths % 8]);
    buf_add_c(pen->out, has_style(pen, style) ? TOP_RESET : "");
    buf_add_c(pen->out, pen->colour && wide > drawn ? TOP_DIM : "");
    for (size_t i = drawn; i < wide; i++) {
        buf_add_c(pen->out, "\xc2\xb7");
    }
    buf_add_c(pen->out, pen->colour && wide > drawn ? TOP_RESET : "");
    pen->used += wide;
}

void top_line_end(struct top_line *pen)
{
    while (pen->out->len > 0 && pen->out->ptr[pen->out->len - 1] == ' ') {
        pen->out->len--;
    }
    buf_add_char(pen->out, '\n');
    pen->used = 0;
}

/* At most two significant digits: "2.5", "16". */
static void top_line_add_amount(struct buf *out, double amount)
{
    bool is_whole = amount == floor(amount) || amount >= 10;
    buf_addf(out, is_whole ? "%.0f" : "%.1f", amount);
}

void top_add_amounts(struct buf *out, double used, double total, bool is_bytes)
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{1099511627776.0, "T"}, {1073741824.0, "G"}, {1048576.0, "M"}};
    size_t at = ARRAY_LEN(units) - 1;
    for (size_t i = ARRAY_LEN(units); is_bytes && i > 0; i--) {
        at = total >= units[i - 1].size ? i - 1 : at;
    }
    double size = is_bytes ? units[at].size : 1;
    top_line_add_amount(out, used / size);
    buf_add_char(out, '/');
    top_line_add_amount(out, total / size);
    buf_add_c(out, is_bytes ? units[at].name : "");
}
