/* train_json.h: training jobs for -o json. */
#pragma once

#include "app/train/train_history.h"
#include "app/train/train_view.h"
#include "base/buf.h"

void train_json_list(struct buf *out, const struct train_view *views, size_t count);
void train_json_status(struct buf *out, const struct train_view *view,
                       const struct train_history *history);
