/* train_text.h: training jobs as text: the list, the status and the live line. Pure. */
#pragma once

#include "app/train/train_history.h"
#include "app/train/train_view.h"
#include "base/buf.h"

/* A header and one line per job. `now` in seconds since 1970. */
void train_text_list(struct buf *out, const struct train_view *views, size_t count, double now);

/* Everything about one job, with its last events. */
void train_text_status(struct buf *out, const struct train_view *view,
                       const struct train_history *history, const char *folder, double now);

/* One line without its newline, at most `columns` wide: "step 1200  11.8 steps/s  3 of 4
 * replicas". */
void train_text_live(struct buf *out, const struct train_view *view, size_t columns);
