/* offering_migrate.h: renumbers journaled intents to the offerings of the current file. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "core/core.h"
#include "store/journal.h"

/* Must be called in a transaction. */
bool offering_migrate(struct journal *journal, const struct core_settings *settings,
                      struct arena *scratch, struct err *err) MUST_USE;
