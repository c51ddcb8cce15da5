/*
 * up_failure.h: why the last `shoal up` failed, stored in the cluster's folder on this machine.
 *
 * A head that was never launched or set up has no service to answer `status`, so this is the only
 * record of the failure. A successful `up` removes it, and `down` removes it with the folder.
 */
#pragma once

#include "app/cluster_state.h"

enum { UP_FAILURE_BYTES_MAX = 2000 };

struct up_failure {
    int64_t wall_ms;
    struct str why; /* empty if the last `up` succeeded or there was none */
};

bool up_failure_write(const struct cluster_state *state, const struct up_failure *failure,
                      struct err *err) MUST_USE;
bool up_failure_remove(const struct cluster_state *state, struct err *err) MUST_USE;
/* Fails if the file cannot be read, but not if there is none. */
bool up_failure_read(const struct cluster_state *state, struct arena *arena,
                     struct up_failure *ret_failure, struct err *err) MUST_USE;
