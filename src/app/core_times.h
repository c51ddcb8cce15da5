/*
 * core_times.h: the core's usual times.
 *
 * A test that cannot wait a minute turns them with SHOAL_TEST_TIMES=settle=0,quiet_start=500
 * (milliseconds); what it names wrongly has no effect.
 */
#pragma once

#include "core/core.h"

void core_times_make(struct core_times *times);
