/* adopt.h: finds out whose cluster the credentials reach, and whose the records here are. */
#pragma once

#include "app/launch/cluster_session.h"

/* Asks the cloud for the owner, unless it is known or this machine has no records of the name. Runs
 * the session's loop. Records of an older release become
 * the owner's if the uid in their journal is found with its credentials. */
bool adopt_records(struct cluster_session *launch, struct err *err) MUST_USE;

/* Does so only if there are such records: `up` asks for the owner during its preflight. */
bool adopt_old_records(struct cluster_session *launch, struct err *err) MUST_USE;

/* For commands that have just found the cluster's head, or none (empty uid): no further call if the
 * listing said whose it is. Failures leave everything as it is. */
void adopt_seen(struct cluster_session *launch, struct str uid);

/* Sets the error for a cluster that this machine knows only from another owner. Always returns
 * false. */
bool adopt_refuse(const struct config *config, struct str other, struct arena *arena,
                  struct err *err);
