/* bundles.h: converts the arguments of request-resources to Ray's request. Pure. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "ray/gcs.h"

enum { WISHES_MAX = 10000 };

/*
 * `cpus` bundles of one CPU plus those of `bundles`, a list such as [{"GPU": 1}, {"CPU": 4}] (JSON,
 * or YAML in one line; NULL: none). Equal bundles are merged with a count; without any the result
 * is empty. Fails with ERR_USAGE.
 */
bool bundles_read(int64_t cpus, const char *bundles, struct arena *arena,
                  const struct gcs_bundle **ret_bundles, size_t *ret_count,
                  struct err *err) MUST_USE;
