/* train_report.h: an HTML page about a training run. */
#pragma once

#include "app/train/train_history.h"
#include "app/train/train_view.h"
#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>

/* `now` in seconds since 1970: the end of a run that has not ended. */
bool train_report_write(const char *path, struct arena *arena, const struct train_view *view,
                        const struct train_history *history, double now, struct err *err) MUST_USE;

/* The page itself; for tests. */
void train_report_add(struct buf *out, struct arena *arena, const struct train_view *view,
                      const struct train_history *history, double now);
