/*
 * agent.h: the agent of a slot, which is the entrypoint of a Ray job.
 *
 * Connects to the trainer on the head, prepares the slot (the user's files, a warm Python), and
 * runs replicas one after another, as the trainer requests. It serves the checkpoints of its slot
 * to other agents. A broken connection does not affect the replica; the agent connects again.
 */
#pragma once

/* Runs until the trainer ends the slot, or until the trainer has been gone for ten minutes: the
 * script then saves, and the newest checkpoint stays on the node. Reads the variables
 * SHOAL_TRAIN_*, which the trainer passes through Ray. A subcommand of `shoal node`: returns the
 * exit status. */
struct clock;
int agent_main(const struct clock *clock);
