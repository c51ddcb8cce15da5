/* train_progress.c: adds up steps, and measures how fast they are. */
#include "app/train/train_progress.h"

#include <string.h>

/* A rate over a shorter time would mostly show when the reports arrive. */
static const double window_s = 2;

int64_t train_progress_step_of(const struct train_progress *progress, int64_t number)
{
    for (size_t i = progress->checkpoint_count; i > 0; i--) {
        if (progress->checkpoints[i - 1].number == number) {
            return progress->checkpoints[i - 1].step;
        }
    }
    return number == 0 ? 0 : -1;
}

int64_t train_progress_start(struct train_progress *progress, int64_t checkpoint)
{
    int64_t step = train_progress_step_of(progress, checkpoint);
    int64_t before = progress->step;
    progress->base = progress->step = step >= 0 ? step : before;
    progress->has_rate = false;
    progress->rate_at = 0;
    return before > progress->step ? before - progress->step : 0;
}

void train_progress_count(struct train_progress *progress, int64_t steps, double now)
{
    progress->step = progress->base + steps;
    progress->known = progress->step > progress->known ? progress->step : progress->known;
    double elapsed = now - progress->rate_at;
    if (progress->rate_at > 0 && elapsed < window_s) {
        return;
    }
    if (progress->rate_at > 0 && steps > 0) {
        double rate = (double)(progress->step - progress->rate_step) / elapsed;
        progress->rate = progress->has_rate ? (progress->rate + rate) / 2 : rate;
        progress->has_rate = true;
    }
    progress->rate_at = steps > 0 ? now : 0; /* the time before the first step is a pause */
    progress->rate_step = progress->step;
}

void train_progress_saved(struct train_progress *progress, int64_t number)
{
    struct progress_checkpoint *items = progress->checkpoints;
    if (number <= 0 || train_progress_step_of(progress, number) >= 0) {
        return;
    }
    if (progress->checkpoint_count == PROGRESS_CHECKPOINTS_MAX) {
        memmove(items, items + 1, sizeof(items[0]) * (PROGRESS_CHECKPOINTS_MAX - 1));
        progress->checkpoint_count--;
    }
    items[progress->checkpoint_count++] = (struct progress_checkpoint){number, progress->step};
}
