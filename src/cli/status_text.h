/* status_text.h: what the head says of its cluster, as `status` prints it. Pure. */
#pragma once

#include "base/buf.h"
#include "cli/talk.h"
#include "config/document/value.h"

struct status_frame {
    const char *file;         /* as the user gave it */
    const struct value *tree; /* the configuration: where a command stands; NULL: not known */
    int64_t now_ms;           /* wall clock, here */
    size_t width;             /* of the screen; 0: lines are never cut */
    bool colour;
    bool has_ray_text; /* Ray's own words first */
};

void status_text_add(struct buf *out, struct arena *arena, const struct talk_status *said,
                     const struct status_frame *frame);

/* All of it for -o json. */
struct value *status_record(struct arena *arena, const struct talk_status *said);
