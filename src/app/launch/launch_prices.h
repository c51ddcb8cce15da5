/*
 * launch_prices.h: looks up what the instances of a file cost, while its preflight runs.
 *
 * Prices are not essential: without permission, or if the answers take too long, they stay unknown.
 */
#pragma once

#include "app/launch/cluster_session.h"

/* Starts the lookup; nothing if the cloud has no price list. */
void launch_prices_start(struct cluster_session *launch);

/* Calls `done` when the prices are in launch->core.book, or at once if none are looked up; at most
 * a few seconds later. */
void launch_prices_wait(struct cluster_session *launch, void (*done)(void *context), void *context);

/* Cancels the lookup: `done` is not called. */
void launch_prices_end(struct cluster_session *launch);

/* The prices as text, for the journal and the handover. */
struct str launch_prices_text(const struct cluster_session *launch);
