/* yaml_time.h: YAML 1.1 timestamps as in PyYAML, stored as Python's ISO text. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "config/document/value.h"

/* True if a plain scalar resolves to a timestamp (2026-11-15, 2026-11-15 04:05:06.7 +2). */
bool yaml_is_timestamp(struct str text);

/* Sets `value` to a date or a date with time; false with a reason for month 13 and so on. */
bool yaml_construct_timestamp(struct arena *arena, struct str text, struct value *value,
                              const char **ret_problem) MUST_USE;
