/* need.c: how many replicas of a training job need room that Ray does not have. */
#include "core/train/need.h"

int64_t train_need(const struct train_job *job, int64_t now)
{
    int64_t missing = train_job_wanted(job);
    if (train_job_is_over(job) || job->is_stopping) {
        return 0;
    }
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        missing -= job->slots[i].state != TRAIN_SLOT_NONE && job->slots[i].deadline < 0;
    }
    missing -= now - job->freed_at < TRAIN_FREED_MS ? job->freed : 0;
    return missing > 0 ? missing : 0;
}

int64_t train_leaving(const struct train_job *job, int64_t now)
{
    int64_t leaving = now - job->left_at < TRAIN_LEFT_MS ? job->left : 0;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        leaving += job->slots[i].state != TRAIN_SLOT_NONE && job->slots[i].deadline >= 0;
    }
    return leaving;
}
