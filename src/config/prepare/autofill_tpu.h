/* autofill_tpu.h: the one resource that Ray adds on gcp: TPU-<type>-head on TPU node types. */
#pragma once

#include "base/arena.h"
#include "config/document/value.h"

void autofill_tpus(struct arena *arena, const struct value *types);
