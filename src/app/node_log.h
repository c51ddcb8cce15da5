/* node_log.h: a human-readable log of the setup of one node. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "io/clock.h"
#include "remote/step_event.h"

/* Write errors are ignored: a full disk must not fail the setup. */
struct node_log {
    const char *path;
    const struct clock *clock;
};

/* FOLDER/log/NAME; lives in `arena`. */
struct node_log node_log_at(const char *folder, struct str name, const struct clock *clock,
                            struct arena *arena);

void node_log_say(const struct node_log *log, const char *fmt, ...) PRINTF_LIKE(2, 3);
void node_log_text(const struct node_log *log, struct str text); /* several lines, indented */

/* Logs an event of a step, and its output line by line. */
void node_log_event(const struct node_log *log, const struct step_event *event);
