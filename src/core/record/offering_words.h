/* offering_words.h: offerings as people call them. */
#pragma once

#include "core/core.h"
#include "core/words.h"

/* "g5.xlarge in us-east-1a, spot" */
struct str words_offering(const struct core_settings *settings, uint32_t offering,
                          struct arena *arena);

/* "g5.xlarge in us-east-1a (spot, $0.302/h each)"; no price when it is not known. */
struct str words_priced_offering(const struct core_settings *settings, uint32_t offering,
                                 struct arena *arena);
