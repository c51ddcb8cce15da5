/*
 * autofill.h: fills in the resources of node types from their instance type.
 *
 * Ray does this on aws from EC2's listing (we use the catalog) and for TPUs on gcp. As in Ray it
 * is all or nothing: one node type that cannot be looked up leaves every type unchanged, and types
 * without resources are then an error. On gcp we also fill in node types without `resources`, which
 * Ray rejects.
 */
#pragma once

#include "base/arena.h"
#include "config/catalog/catalog.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/* `provider` is the assumed provider, even if the file's is misspelt. */
void autofill_resources(struct arena *arena, struct str provider, struct value *config,
                        struct diag_list *diags);

/*
 * Reports an unknown InstanceType. A near miss is always an error; a name unlike any other may be
 * newer than our catalog and is reported with `level`.
 */
void autofill_report_machine(struct diag_list *diags, enum diag_level level,
                             const struct value *name);

/* The resources of a machine as Ray declares them: the head's memory is not one of them. */
struct value *autofill_detect(struct arena *arena, const struct machine_type *machine,
                              bool is_head);
