/* secret_arena.h: an arena for keys: its memory is wiped before it goes back to the heap. */
#pragma once

#include "base/arena.h"

/* Release with arena_clear(), which wipes. */
void secret_arena_init(struct arena *arena);
