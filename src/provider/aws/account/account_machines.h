/*
 * account_machines.h: the machines of one region that belong to clusters, page after page, complete
 * or not at all.
 */
#pragma once

#include "base/arena.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/machines/instance_reply.h"

struct account_machines;

/* `pages` are there, in order, only when the reply is ok; they live in the arena of the start. */
typedef void account_machines_fn(void *context, const struct aws_reply *reply,
                                 const struct instance_list *pages, size_t count);

/* Everything but `arena` is copied. */
struct account_machines *account_machines_start(struct aws_client *client, struct str region,
                                                int64_t deadline_ms, struct arena *arena,
                                                account_machines_fn *done, void *context);
void account_machines_cancel(struct account_machines *machines);
