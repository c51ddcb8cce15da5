/* worker_place.h: how this machine reaches the workers of a cluster: through the head, with the
 * cluster's own key. */
#pragma once

#include "cli/target.h"

struct worker_place {
    struct str name; /* "worker-2" */
    struct ssh_target place;
    bool has_key; /* false: its host key is not known, so it cannot be used yet */
};

/* All workers that have an address and are not terminated. `head` is the place of the head. The
 * head's service names them, and their host keys come from the head, which has verified them.
 * Fails if the cluster's own key is on another machine. Requires a session. */
bool worker_places(struct target *target, const struct ssh_target *head,
                   const struct worker_place **ret_places, size_t *ret_count,
                   struct err *err) MUST_USE;
