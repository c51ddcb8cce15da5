/*
 * node_serve.h: the node's side of a node_session, run by `shoal node serve`.
 *
 * Sends the greeting, reads one request, writes its files, starts a runner for its steps
 * (step_run.h) and reports their events until they end.
 */
#pragma once

#include <stdint.h>

/* Uses descriptors 0 and 1. `handover` goes into the greeting (node_request.h). Returns the exit
 * status: 0 if all steps succeeded. */
int node_serve(int64_t handover);
