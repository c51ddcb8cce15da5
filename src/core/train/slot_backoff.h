/*
 * slot_backoff.h: how long to wait with new slots after some ended before they were ready. Pure.
 *
 * Slots that were submitted together often fail for the same reason, so they count as one failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    SLOT_BACKOFF_MS = 5000,              /* after the first failure; then twice as long each */
    SLOT_BACKOFF_MAX_MS = 5 * 60 * 1000, /* after many */
    SLOT_BACKOFF_QUIET = 2,              /* so many failures in a row are not unusual */
};

struct slot_backoff {
    int64_t failures;   /* in a row */
    int64_t failed_at;  /* monotonic time of the last one */
    bool has_failed;    /* since the trainer started */
    uint32_t last_slot; /* submitted when the last failure was counted */
};

/* A slot is ready: the next failure is the first one again. */
void slot_backoff_ready(struct slot_backoff *backoff);

/* The slot ended, and `last_slot` was the newest one then. `was_ready`: it had been ready, so only
 * the shortest wait follows. True if a further failure in a row is counted. */
bool slot_backoff_failed(struct slot_backoff *backoff, uint32_t slot, uint32_t last_slot,
                         bool was_ready, int64_t now);

int64_t slot_backoff_ms(const struct slot_backoff *backoff); /* from the last failure on */
bool slot_backoff_is_waiting(const struct slot_backoff *backoff, int64_t now);

/* How many replicas to request nodes for. While slots keep failing, one is enough: the others
 * would be paid for and not used. */
int64_t slot_backoff_need(const struct slot_backoff *backoff, int64_t need);
