/*
 * node_serve.h: the node's end of a node_session: what `shoal node serve` does.
 *
 * Greets, takes one request, writes its files, hands its steps to a runner of its own
 * (step_run.h) and tells what becomes of them until they end.
 */
#pragma once

/* The exit status of the process: 0 when the steps went well. Speaks on descriptors 0 and 1. */
int node_serve(void);
