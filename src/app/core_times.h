/*
 * core_times.h: the core's default timeouts.
 *
 * A node that has just joined is not considered idle for a while, so that the work it was launched
 * for can reach it: for one minute, or less if the file has a shorter idle timeout.
 *
 * A test that cannot wait a minute shortens them with the variable that test_times.h describes.
 */
#pragma once

#include "core/core.h"

void core_times_make(struct core_times *times, int64_t idle_timeout_ms);

/* For own machines, which are all listed at once: nothing waits for instances that appear late, and
 * a host that answers again is soon used. */
void core_times_list_at_once(struct core_times *times);
