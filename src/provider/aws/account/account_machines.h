/*
 * account_machines.h: lists the instances of one region that belong to clusters, all pages or an
 * error.
 */
#pragma once

#include "base/arena.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/machines/instance_reply.h"

struct account_machines;

/* `pages` is set, in order, only if the reply is ok; allocated in the arena passed at the start. */
typedef void account_machines_fn(void *context, const struct aws_reply *reply,
                                 const struct instance_list *pages, size_t count);

/* Everything except `arena` is copied. */
struct account_machines *account_machines_start(struct aws_client *client, struct str region,
                                                int64_t deadline_ms, struct arena *arena,
                                                account_machines_fn *done, void *context);
void account_machines_cancel(struct account_machines *machines);
