/* node_log.h: what the set-up of one node did and said, in a file that people read. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "io/clock.h"
#include "remote/step_event.h"

/* A full disk costs the log, not the set-up: nothing here fails. */
struct node_log {
    const char *path;
    const struct clock *clock;
};

/* FOLDER/log/NAME; lives in `arena`. */
struct node_log node_log_at(const char *folder, struct str name, const struct clock *clock,
                            struct arena *arena);

void node_log_say(const struct node_log *log, const char *fmt, ...) PRINTF_LIKE(2, 3);
void node_log_text(const struct node_log *log, struct str text); /* several lines, indented */

/* What happened to a step; its output line by line. */
void node_log_event(const struct node_log *log, const struct step_event *event);
