/* offering_text.h: formats offerings for users. */
#pragma once

#include "core/core.h"
#include "core/format.h"

/* "g5.xlarge in us-east-1a, spot" */
struct str format_offering(const struct core_settings *settings, uint32_t offering,
                           struct arena *arena);

/* "g5.xlarge in us-east-1a (spot, $0.302/h each)"; without the price if it is unknown. */
struct str format_priced_offering(const struct core_settings *settings, uint32_t offering,
                                  struct arena *arena);
