/*
 * train_history.h: what happened to a job, one JSON object per line in FOLDER/events.jsonl.
 *
 * Lines are only appended. A line that was cut off, because the trainer was killed or the disk was
 * full, is ignored; the next one starts on a new line. A file that has become too large is renamed
 * to events.1.jsonl and replaces the one before, so the oldest events are lost.
 *
 *     run         a trainer started
 *     generation  the replicas of a generation made their first step: cause and pause
 *     rate        steps per second, at intervals that grow with the age of the job
 *     message     what was printed: failures, notices
 *     end         the job ended
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_FILE_BYTES_MAX = 4 << 20, HISTORY_LINE_BYTES_MAX = 16 * 1024 };

/* Appends the event. Does not release it. */
bool train_history_add(const char *folder, const json_t *event, struct err *err) MUST_USE;

/* Seconds. */
struct pause_parts {
    double total, save, transfer, start, rendezvous, load;
};

enum history_kind {
    HISTORY_RUN,
    HISTORY_GENERATION,
    HISTORY_RATE,
    HISTORY_MESSAGE,
    HISTORY_END,
    HISTORY_KIND_COUNT,
};

struct history_event {
    enum history_kind kind;
    double time; /* seconds since 1970 */
    int64_t generation, replicas, replicas_before, checkpoint;
    int64_t step;
    int64_t repeated;         /* GENERATION: steps */
    struct str text;          /* the cause, or the message */
    struct pause_parts pause; /* GENERATION */
    double rate;              /* RATE: steps per second */
    double dollars_per_hour;  /* RATE: of the cluster; 0: unknown */
};

struct train_history {
    const struct history_event *events;
    size_t count;
    size_t skipped; /* lines that are not valid */
};

/* In the order of the file. A job without a file has no events. Texts live in `arena`. */
void train_history_read(const char *folder, struct arena *arena, struct train_history *ret_history);

/* Sums of all pauses after the first generation. */
struct history_sums {
    int64_t pauses, repeated;
    struct pause_parts parts;
};
struct history_sums train_history_sums(const struct train_history *history);
