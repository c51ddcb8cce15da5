/*
 * step_group.h: the processes of the step that runs, remembered beside the bundle.
 *
 * A runner that is killed leaves the step that it ran behind. Whoever runs next in that folder ends
 * it first: two set-ups at once on one machine would destroy each other's work.
 */
#pragma once

void step_group_note(const char *folder, int leader);
void step_group_forget(const char *folder);

/* Waits until they are gone, killed if need be. Only processes that know the folder's step count:
 * numbers of groups are used again, after a reboot at the latest. */
void step_group_end(const char *folder);
