/* wishes.h: what request-resources is given, as what Ray is asked for. Pure. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "ray/gcs.h"

enum { WISHES_MAX = 10000 };

/*
 * `cpus` bundles of one CPU and those of `bundles`, a list such as [{"GPU": 1}, {"CPU": 4}] (JSON,
 * or YAML in one line; NULL: none); equal ones become one with a count. Nothing at all is no wish.
 * ERR_USAGE says what is wrong.
 */
bool wishes_read(int64_t cpus, const char *bundles, struct arena *arena,
                 const struct gcs_wish **ret_wishes, size_t *ret_count, struct err *err) MUST_USE;
