/*
 * events.h: what has happened to the cluster, in words, numbered for good.
 *
 * Kept in the journal, so that numbers go on over restarts and `shoal events` knows what happened
 * before the last one; some thousands, then the oldest are forgotten. What is added is on disk half
 * a second later: a disk takes its time, and nothing is decided by it.
 */
#pragma once

#include "app/head/insight.h"
#include "base/attr.h"
#include "io/log.h"
#include "io/loop.h"
#include "store/journal.h"

struct events;

typedef void event_fn(void *context, const struct insight_event *event);

/* Everything given must outlive it. `log` hears of every event as well. */
struct events *events_open(struct loop *loop, struct journal *journal, const struct log *log);
void events_close(struct events *events); /* NULL is fine; writes what is not written */

/* Whoever follows: told from inside events_add(), so it only takes note. One at a time; NULL: none.
 */
void events_listen(struct events *events, event_fn *added, void *context);

/* Number and time are given here; texts are copied. */
void events_add(struct events *events, enum insight_event_kind kind, struct str node,
                struct str text, struct str reason);

/* Those behind that number, oldest first. Views are valid during the call. */
void events_each(struct events *events, int64_t after, event_fn *take, void *context);

/* The number of the last one; 0: there is none. */
int64_t events_last(const struct events *events);

/* The word on the wire and in lists: "launch", "join", ... */
const char *event_word(enum insight_event_kind kind);
