/*
 * events.h: numbered events of the cluster, as text.
 *
 * They are stored in the journal, so numbers continue across restarts; only the newest few thousand
 * are kept. An event is on disk half a second after it was added; no decision depends on it.
 */
#pragma once

#include "app/model/cluster_status.h"
#include "base/attr.h"
#include "io/log.h"
#include "io/loop.h"
#include "store/journal.h"

struct events;

typedef void event_fn(void *context, const struct cluster_event *event);

/* All arguments must outlive the result. `log` also receives every event. */
struct events *events_open(struct loop *loop, struct journal *journal, const struct log *log);
void events_close(struct events *events); /* NULL is fine; writes pending events */

/* Sets the one listener, or NULL. It is called from inside events_add() and must not call back. */
void events_listen(struct events *events, event_fn *added, void *context);

/* Assigns number and time, and copies the texts. */
void events_add(struct events *events, enum cluster_event_kind kind, struct str node,
                struct str text, struct str reason);

/* An event about a launch. */
void events_add_launch(struct events *events, enum cluster_event_kind kind, uint64_t launch,
                       struct str text, struct str reason);

/* Events after that number, oldest first. Valid during the call. */
void events_each(struct events *events, int64_t after, event_fn *take, void *context);

/* The number of the last event, or 0. */
int64_t events_last(const struct events *events);
