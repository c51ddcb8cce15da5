/*
 * report.h: the result of a simulation as one HTML page.
 *
 * Self-contained: no scripts, fonts or external files. Everything from the user's files is escaped.
 */
#pragma once

#include "cli/simulate/spread.h"

bool report_write(const char *path, struct arena *arena, const struct result *result,
                  const struct figures *figures, const struct spread *spreads,
                  struct err *err) MUST_USE;
