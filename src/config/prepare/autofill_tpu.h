/* autofill_tpu.h: the one resource that Ray adds on gcp: TPU-<type>-head on TPU node types. */
#pragma once

#include "base/arena.h"
#include "config/document/value.h"

void autofill_tpus(struct arena *arena, const struct value *types);

/* The TPU type of a node_config ("v4-16"), empty for other machines; false where Ray raises. */
bool autofill_tpu_find(struct arena *arena, const struct value *node, struct str *ret_type);

/* True if a TPU of this type has more than one host. */
bool autofill_tpu_is_pod(struct str type);
