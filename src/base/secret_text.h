/* secret_text.h: recognizes names of secrets, and masks secrets in a command. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define SECRET_MASK "********"

/* True if a key, variable or option with this name holds a secret. Matches whole words: TOKEN does,
 * TOKENIZERS_PARALLELISM and max_tokens do not. */
bool secret_is_name(struct str name);

/* The text with every secret masked; returns `text` itself if there is none. */
struct str secret_mask_text(struct arena *arena, struct str text);
