/*
 * autofill.h: resources of node types that the file leaves to the machine type.
 *
 * Ray does this on aws from EC2's listing (ours comes from the catalogue) and for TPUs on gcp. It
 * is all or nothing, as in Ray: one node type that cannot be looked up leaves every type as it
 * was written, and then the ones without resources are an error.
 */
#pragma once

#include "base/arena.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/* `provider` is what we go on with, even when the file's own is misspelt. */
void autofill_resources(struct arena *arena, struct str provider, struct value *config,
                        struct diag_list *diags);

/*
 * Says that an InstanceType is not known. A near miss is always an error; a name unlike any other
 * may be newer than our catalogue, and `level` is what that is worth here.
 */
void autofill_report_machine(struct diag_list *diags, enum diag_level level,
                             const struct value *name);
