/* status_text.h: formats the head's status for `status`. Pure. */
#pragma once

#include "base/buf.h"
#include "cli/ctl_query.h"
#include "config/document/value.h"

struct status_frame {
    const char *file;         /* path as given by the user */
    const struct value *tree; /* configuration, for positions of commands; NULL: unknown */
    int64_t now_ms;           /* local wall clock, ms */
    size_t width;             /* width of the screen; 0: never truncate */
    bool colour;
    bool has_ray_text; /* print Ray's own status first */
};

void status_text_add(struct buf *out, struct arena *arena, const struct ctl_query_status *said,
                     const struct status_frame *frame);

/* The whole status for -o json. */
struct value *status_record(struct arena *arena, const struct ctl_query_status *said);
