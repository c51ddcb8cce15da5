/* secret_text.h: which names are those of secrets, and where secrets stand inside a command. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define SECRET_MASK "********"

/* Does a key, a variable or an option of this name hold a secret? Whole words count: TOKEN does,
 * TOKENIZERS_PARALLELISM and max_tokens do not. */
bool secret_is_name(struct str name);

/* The text with every secret in it masked; the same view when there is none. */
struct str secret_mask_text(struct arena *arena, struct str text);
