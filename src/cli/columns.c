/* columns.c: formats widths, ages and money. */
#include "cli/columns.h"

#include "base/utf8.h"

#include <sys/ioctl.h>

#define ELLIPSIS "\xe2\x80\xa6"

enum { LINE_BYTES_MAX = 64 * 1024 };

/* How many bytes of the text fit into `width` columns, and how many columns they use. */
static size_t columns_fitting(struct str text, size_t width, size_t *ret_columns)
{
    size_t at = 0;
    size_t columns = 0;
    while (at < text.len) {
        size_t len;
        utf8_decode(str_sub(text, at, text.len), &len);
        size_t wide = utf8_width(str_sub(text, at, at + len));
        if (columns + wide > width) {
            break;
        }
        columns += wide;
        at += len;
    }
    *ret_columns = columns;
    return at;
}

size_t columns_add(struct buf *out, struct str text, size_t width)
{
    AUTO_BUF struct buf clean;
    size_t columns;
    buf_init(&clean, LINE_BYTES_MAX);
    utf8_add_visible(&clean, str_sub(str_cut(&text, '\n'), 0, LINE_BYTES_MAX / 4), false);
    struct str line = str_trim(buf_str(&clean));
    if (columns_fitting(line, width, &columns) == line.len) {
        buf_add(out, line);
        return columns;
    }
    if (width == 0) {
        return 0;
    }
    size_t fits = columns_fitting(line, width - 1, &columns);
    buf_add(out, str_sub(line, 0, fits));
    buf_add_c(out, ELLIPSIS);
    return columns + 1;
}

void columns_add_padded(struct buf *out, struct str text, size_t width)
{
    size_t used = columns_add(out, text, width);
    buf_add_spaces(out, width - used);
}

/* ---- folding ---- */

/* Bytes of the character or colour sequence at the front of the text, and its columns. */
static size_t next_unit(struct str text, size_t *ret_columns)
{
    size_t len = 2;
    if (!str_starts(text, "\033[")) {
        utf8_decode(text, &len);
        *ret_columns = utf8_width(str_sub(text, 0, len));
        return len;
    }
    while (len < text.len && (text.ptr[len] < '@' || text.ptr[len] > '~')) {
        len++;
    }
    *ret_columns = 0;
    return len < text.len ? len + 1 : len;
}

/* How many bytes of the line stand before the place to fold it; all of them when it fits. */
static size_t fold_place(struct str line, size_t width)
{
    size_t used = 0;
    size_t blank = SIZE_MAX; /* the last one behind a word */
    bool has_word = false;
    for (size_t at = 0, wide; at < line.len; used += wide) {
        bool is_blank = line.ptr[at] == ' ';
        size_t len = next_unit(str_sub(line, at, line.len), &wide);
        if (is_blank && has_word) {
            blank = at;
        }
        if (used + wide > width && blank != SIZE_MAX) {
            return blank;
        }
        has_word = has_word || !is_blank;
        at += len;
    }
    return line.len;
}

/* Where the lines below begin. */
static size_t hang_of(struct str line)
{
    enum { LABEL_MAX = 14, ARROW = 3 };
    size_t start = 0;
    while (start < line.len && line.ptr[start] == ' ') {
        start++;
    }
    struct str rest = str_sub(line, start, line.len);
    if (start == 0) {
        return str_starts(line, "shoal: ") ? 2 : 0;
    }
    if (str_starts(rest, "-> ")) {
        return start + ARROW;
    }
    size_t gap = str_find(rest, "  ");
    size_t column = gap;
    while (column < rest.len && rest.ptr[column] == ' ') {
        column++;
    }
    return gap == SIZE_MAX || start + column > LABEL_MAX ? start : start + column;
}

static void fold_line(struct buf *out, struct str line, size_t width)
{
    size_t hang = hang_of(line);
    size_t room = width;
    hang = hang < width / 2 ? hang : 0;
    while (line.len > 0) {
        size_t end = fold_place(line, room);
        buf_add(out, str_sub(line, 0, end));
        line = str_sub(line, end, line.len);
        while (line.len > 0 && out->len > 0 && out->ptr[out->len - 1] == ' ') {
            out->len--;
        }
        while (line.len > 0 && line.ptr[0] == ' ') {
            line = str_sub(line, 1, line.len);
        }
        if (line.len > 0) {
            buf_add_char(out, '\n');
            buf_add_spaces(out, hang);
        }
        room = width - hang;
    }
}

void columns_fold(struct buf *out, struct str text, size_t width)
{
    while (text.len > 0) {
        bool has_end = str_find_char(text, '\n') != SIZE_MAX;
        struct str line = str_cut(&text, '\n');
        if (width == 0) {
            buf_add(out, line);
        } else {
            fold_line(out, line, width);
        }
        buf_add_c(out, has_end ? "\n" : "");
    }
}

void columns_add_age(struct buf *out, int64_t ms)
{
    enum { SECOND = 1000, MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
    int64_t seconds = ms > 0 ? ms / SECOND : 0;
    if (seconds < 2 * MINUTE) {
        buf_addf(out, "%llds", (long long)seconds);
    } else if (seconds < 2 * HOUR) {
        buf_addf(out, "%lldm", (long long)(seconds / MINUTE));
    } else if (seconds < 2 * DAY) {
        buf_addf(out, "%lldh", (long long)(seconds / HOUR));
    } else {
        buf_addf(out, "%lldd", (long long)(seconds / DAY));
    }
}

void columns_add_hourly(struct buf *out, int64_t micro_dollars, bool is_whole)
{
    enum { CENT = 10000, HALF_CENT = CENT / 2, CENTS = 100 };
    int64_t cents = (micro_dollars + HALF_CENT) / CENT;
    if (!is_whole && micro_dollars <= 0) {
        buf_add_c(out, "$?/h");
    } else if (micro_dollars > 0 && micro_dollars < CENT) {
        buf_addf(out, "<$0.01%s/h", is_whole ? "" : "+");
    } else {
        buf_addf(out, "$%lld.%02lld%s/h", (long long)(cents / CENTS), (long long)(cents % CENTS),
                 is_whole ? "" : "+");
    }
}

struct screen_size columns_of_screen(int descriptor)
{
    struct winsize size;
    struct screen_size result = {80, 24};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
        result.columns = size.ws_col > 0 ? size.ws_col : result.columns;
        result.lines = size.ws_row > 0 ? size.ws_row : result.lines;
    }
    return result;
}
