/* load_code.h: encodes the parts of Ray's view that have arrays. */
#pragma once

#include "core/event.h"
#include "core/record/bytes.h"

void ray_node_put(struct byte_writer *writer, const struct ray_node *node);
void ray_load_put(struct byte_writer *writer, const struct ray_load *load);

/* The arrays live in `arena`; empty ones are NULL. */
void ray_node_take(struct byte_reader *reader, struct arena *arena, struct ray_node *ret_node);
void ray_load_take(struct byte_reader *reader, struct arena *arena, struct ray_load *ret_load);
