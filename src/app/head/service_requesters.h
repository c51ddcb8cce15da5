/*
 * service_requesters.h: finds out who requests capacity through request_resources(), when a user
 * asks.
 */
#pragma once

#include "app/head/head_context.h"

struct requesters {
    struct head_context *head;
    /* Called once for each requesters_ask() that started a search, from the loop. */
    void (*done)(void *context);
    void *context;
    struct loop_timer *timer; /* set while searching */
    bool is_asking;
    struct gcs_requesters found; /* by the last search; empty if Ray did not answer in time */
};

/* `head`, `done` and `context` are set. The timer belongs to the loop. */
void requesters_open(struct requesters *requesters);
/* Starts a search, unless one is in progress. False while Ray does not answer. */
bool requesters_ask(struct requesters *requesters);
/* The GCS client is about to be closed. */
void requesters_lost(struct requesters *requesters);

/* What a user must know after request-resources; empty if nothing. Pure. */
struct str requesters_warning(const struct gcs_requesters *found, struct arena *arena);
