/*
 * log.h: the one log writer. A record is one line: UTC time with milliseconds, level, message.
 *
 *     2026-11-15T08:15:56.123Z warning node launch failed type=gpu kind=capacity retry_ms=30000
 *
 * The message is a constant first, then key=value. Whatever it says passes redact.h, and bytes that
 * could play tricks with a terminal or forge a second line are written as escapes. Nobody else
 * writes to the log's sink.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/redact.h"

#include <stdbool.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* A longer record is cut, after it was redacted, and says so. */
enum { LOG_RECORD_MAX = 16 * 1024 };

/* Takes a line with its newline. */
typedef void log_sink_fn(void *context, struct str line);

struct log {
    const struct clock *clock;
    const struct redact *redact;
    enum log_level least; /* records below this are dropped */
    log_sink_fn *sink;
    void *context;
};

void log_write(const struct log *log, enum log_level level, const char *fmt, ...) PRINTF_LIKE(3, 4);

static inline bool log_is_on(const struct log *log, enum log_level level)
{
    return level >= log->least;
}

/* A sink: one write to the descriptor that `context` points to, an int. What cannot be written is
 * lost: there is nobody to tell. */
void log_to_descriptor(void *context, struct str line);

/* "debug", "info", "warning", "error". */
const char *log_level_name(enum log_level level);
bool log_level_parse(struct str name, enum log_level *ret_level) MUST_USE;

/* What log_write() writes, without the sink: for tests and for records that come from elsewhere. */
void log_format(const struct log *log, enum log_level level, struct str message, struct buf *out);
