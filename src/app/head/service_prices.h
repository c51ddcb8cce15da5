/* service_prices.h: keeps the prices of spot instances current, by asking the cloud every hour. */
#pragma once

#include "app/head/head_context.h"

struct price_task;

/* NULL if there is nothing to ask: no spot instances, or no known prices. */
struct price_task *price_task_open(struct head_context *head);
void price_task_close(struct price_task *task); /* NULL is fine */
