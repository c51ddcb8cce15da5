/*
 * preflight_run.h: runs the calls of a preflight on the loop. Independent calls are sent at once;
 * those that depend on a reply (the newest image, all types of a region) follow in later waves. No
 * call changes anything.
 */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/aws/preflight/preflight_evaluate.h"

struct aws_preflight_run;

/* Called once, from the loop. The result is allocated in `arena`, which the callee now owns. */
typedef void aws_preflight_run_fn(void *context, const struct preflight_result *result,
                                  struct arena *arena);

/* `cluster` must outlive the result. */
struct aws_preflight_run *aws_preflight_run_start(struct aws_client *client,
                                                  const struct provider_cluster *cluster,
                                                  enum preflight_scope scope,
                                                  aws_preflight_run_fn *done, void *context);

/* No more callbacks are called. */
void aws_preflight_run_cancel(struct aws_preflight_run *run);
