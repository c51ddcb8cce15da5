/*
 * step_group.h: records the process group of the running step.
 *
 * A killed runner leaves its step running. The next runner in the folder stops it first: two setups
 * running at once would damage each other's work.
 */
#pragma once

void step_group_note(const char *folder, int leader);
void step_group_forget(const char *folder);

/* Stops those processes, with SIGKILL if necessary, and waits until they exit. Only processes with
 * the folder's mark in their environment are signalled, because group ids are reused. */
void step_group_end(const char *folder);
