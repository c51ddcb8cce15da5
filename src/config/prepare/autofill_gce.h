/* autofill_gce.h: resources of gcp node types without `resources`, from their machineType. */
#pragma once

#include "base/arena.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/* All or nothing. Node types with resources are unchanged, because Ray adds nothing to them. */
void autofill_gce(struct arena *arena, const struct value *config, const struct value *types,
                  struct diag_list *diags);

/* Reports a machineType that no rule covers. A near miss is always an error. */
void autofill_gce_report(struct arena *arena, struct diag_list *diags, enum diag_level level,
                         const struct value *name);
