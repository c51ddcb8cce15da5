/* page.c: writes the frame of a page. */
#include "cli/page/page.h"

#include "base/utf8.h"
#include "cli/page/page_style.h"

void html_add(struct buf *out, struct str text)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, text.len * 4 + 16);
    utf8_add_visible(&visible, text, false);
    for (size_t i = 0; i < visible.len; i++) {
        switch (visible.ptr[i]) {
        case '&':
            buf_add_c(out, "&amp;");
            break;
        case '<':
            buf_add_c(out, "&lt;");
            break;
        case '>':
            buf_add_c(out, "&gt;");
            break;
        case '"':
            buf_add_c(out, "&quot;");
            break;
        case '\'':
            buf_add_c(out, "&#39;");
            break;
        case ' ': /* no line break between a number and its unit */
            buf_add_c(out, i + 1 < visible.len && visible.ptr[i + 1] == '%' ? "&#160;" : " ");
            break;
        default:
            buf_add_char(out, visible.ptr[i]);
        }
    }
}

void page_begin(struct buf *out, struct str title)
{
    buf_add_c(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    html_add(out, title);
    buf_add_c(out, "</title>\n<style>\n");
    for (size_t i = 0; page_style[i]; i++) {
        buf_add_c(out, page_style[i]);
    }
    buf_add_c(out, "</style>\n</head>\n<body>\n<main>\n");
}

void page_end(struct buf *out)
{
    buf_add_c(out, "</main>\n</body>\n</html>\n");
}
