/* columns.c: widths, ages, money. */
#include "cli/columns.h"

#include "base/utf8.h"

#include <sys/ioctl.h>

#define ELLIPSIS "\xe2\x80\xa6"

enum { LINE_BYTES_MAX = 64 * 1024 };

/* How many bytes of the text fit into `width` columns, and how many columns they take. */
static size_t fitting(struct str text, size_t width, size_t *ret_columns)
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
    if (fitting(line, width, &columns) == line.len) {
        buf_add(out, line);
        return columns;
    }
    if (width == 0) {
        return 0;
    }
    size_t fits = fitting(line, width - 1, &columns);
    buf_add(out, str_sub(line, 0, fits));
    buf_add_c(out, ELLIPSIS);
    return columns + 1;
}

void columns_add_padded(struct buf *out, struct str text, size_t width)
{
    size_t used = columns_add(out, text, width);
    buf_add_spaces(out, width - used);
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
