/* service_death.h: holds back deaths in Ray until their cause is known. */
#pragma once

#include "app/head/head_context.h"
#include "ray/gcs.h"

struct deaths;

struct deaths *deaths_open(struct head_context *head);
void deaths_close(struct deaths *deaths); /* NULL is fine */

/* True if the death is reported to the core later, when Ray has given its cause. */
bool deaths_hold(struct deaths *deaths, uint64_t instance);
/* Drops a held death because newer state is known. */
bool deaths_drop(struct deaths *deaths, uint64_t instance);
/* Asks Ray for the cause of the held deaths, unless a request is in flight. */
void deaths_ask(struct deaths *deaths);
/* Handles Ray's answer for the first `asked` held deaths. */
void deaths_apply(struct deaths *deaths, size_t asked, const struct gcs_node *nodes, size_t count);
/* The GCS will not answer: reports the held deaths. The controller was closed: drops them. */
void deaths_lost(struct deaths *deaths);
void deaths_forget(struct deaths *deaths);
