/* desk_say.c: a line for one guest. */
#include "app/head/channel/desk_parts.h"
#include "io/heap.h"

#include <string.h>

void desk_say(struct guest *guest, const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    if (!out.is_full) {
        local_link_write(guest->link, buf_str(&out));
    }
}

void desk_say_text(struct guest *guest, enum ctl_line_kind kind, struct str text, struct str about)
{
    desk_say(guest, &(struct ctl_line){.kind = kind, .text = text, .about = about});
}

char *desk_copy(struct str text)
{
    char *copy = heap_zeroed(text.len + 1);
    return memcpy(copy, text.ptr, text.len);
}
