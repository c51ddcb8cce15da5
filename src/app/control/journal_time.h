/*
 * journal_time.h: the time of records in a journal.
 *
 * It starts as the wall clock when the journal is first opened after a boot, and then follows the
 * loop's clock, across processes. So a launch of a minute ago does not look old when the wall clock
 * is set. The journal's fact "clock" is "BOOT-ID BASE".
 */
#pragma once

#include "base/attr.h"
#include "io/clock.h"
#include "store/journal.h"

/* Journal time minus the monotonic clock, in milliseconds. */
int64_t journal_time_base(struct journal *journal, const struct clock *clock, struct arena *arena);

/* Must be called in a transaction. */
bool journal_time_write(struct journal *journal, int64_t base_ms, struct arena *arena,
                        struct err *err) MUST_USE;
