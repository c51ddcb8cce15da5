/*
 * full_check.h: leaving full nodes out of a plan must not change it.
 *
 * Plans a second time with the full nodes only counted (core/plan/shapes.h) and ends the program
 * when the answers differ; the parity test runs it on every case to which it applies.
 */
#pragma once

#include "core/plan.h"

void full_check(const struct plan_input *input, const struct plan *plan, struct arena *arena);
