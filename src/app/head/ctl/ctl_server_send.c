/* ctl_server_send.c: sends a line to one client. */
#include "app/head/ctl/ctl_server_internal.h"
#include "io/xalloc.h"

#include <string.h>

void ctl_conn_send(struct ctl_conn *conn, const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    if (!out.is_full) {
        local_link_write(conn->link, buf_str(&out));
    }
}

void ctl_conn_send_text(struct ctl_conn *conn, enum ctl_line_kind kind, struct str text,
                        struct str about)
{
    ctl_conn_send(conn, &(struct ctl_line){.kind = kind, .text = text, .about = about});
}

char *ctl_server_copy(struct str text)
{
    char *copy = heap_zeroed(text.len + 1);
    return memcpy(copy, text.ptr, text.len);
}
