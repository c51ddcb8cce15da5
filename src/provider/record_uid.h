/* record_uid.h: which uid a cluster has, if its record and its instances disagree. Pure. */
#pragma once

#include "base/attr.h"
#include "provider/provider.h"

#include <jansson.h>

/* The distinct uids of live instances with the cluster's name; `uids` has room for `count`. */
size_t record_uids(const struct machine *machines, size_t count, struct str cluster,
                   struct str *uids);

/* The journal knows another uid than the record: with the record's, its instances would be lost. */
bool record_uid_contradicts(const json_t *record, struct str known);

/* False, with the answer set, if live instances belong to two clusters of this name, or if they
 * have the uid of the journal and not that of the record. */
bool record_uid_check(const json_t *record, struct str cluster, struct str known,
                      const struct str *uids, size_t count, struct provider_answer *answer);
