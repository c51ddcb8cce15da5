/*
 * slot_sweep.h: removes what killed agents left behind.
 *
 * An agent holds a lock in its folder while it runs. The next agent of the same user on the machine
 * removes every folder whose lock is free: no process serves the checkpoints in it.
 */
#pragma once

#include "app/train/slot_folder.h"
#include "io/lock.h"

/* Marks the folder as used until the process ends. */
bool slot_sweep_hold(const struct slot_folder *folder, struct lock **ret_lock,
                     struct err *err) MUST_USE;

/* Removes the folders of killed agents next to this one. Returns how many. */
size_t slot_sweep(const struct slot_folder *folder);
