/*
 * report.h: the result of a simulation as one HTML page.
 *
 * It needs nothing but a browser: no scripts, no fonts, no files or addresses outside of itself.
 * Everything that comes from a file of the user's is escaped.
 */
#pragma once

#include "cli/simulate/spread.h"

bool report_write(const char *path, struct arena *arena, const struct result *result,
                  const struct figures *figures, const struct spread *spreads,
                  struct err *err) MUST_USE;
