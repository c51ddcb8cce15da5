/*
 * log.h: the log writer. A record is one line: UTC time with milliseconds, level, message.
 *
 *     2026-11-15T08:15:56.123Z warning node launch failed type=gpu kind=capacity retry_ms=30000
 *
 * A message is constant text followed by key=value pairs. Every record passes redact.h, and bytes
 * that could manipulate a terminal or forge another line are escaped. Only this module writes to
 * the log's sink.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/redact.h"

#include <stdbool.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* A longer record is truncated after redaction, and marked as truncated. */
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

/* A sink that makes one write to the descriptor that `context` points to, an int. Errors are
 * ignored. */
void log_to_descriptor(void *context, struct str line);

/* Formats a record without writing it: for tests and for records from other sources. */
void log_format(const struct log *log, enum log_level level, struct str message, struct buf *out);
