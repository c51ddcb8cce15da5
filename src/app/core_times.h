/*
 * core_times.h: the core's usual times.
 *
 * A node that has just joined is not idle for a while, so that the work it was launched for can
 * reach it: a minute, or less where the file lets nodes be idle for less than that.
 *
 * A test that cannot wait a minute turns them with SHOAL_TEST_TIMES=settle=0,quiet_start=500
 * (milliseconds); what it names wrongly has no effect.
 */
#pragma once

#include "core/core.h"

void core_times_make(struct core_times *times, int64_t idle_timeout_ms);
