/* yaml_time.h: YAML 1.1 timestamps as PyYAML reads them, kept as Python's ISO text. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "config/document/value.h"

/* Does a plain scalar resolve to a timestamp? (2026-11-15, 2026-11-15 04:05:06.7 +2) */
bool yaml_is_timestamp(struct str text);

/* Makes `value` a date or a date with time; false with the reason for a 13th month and so on. */
bool yaml_construct_timestamp(struct arena *arena, struct str text, struct value *value,
                              const char **ret_problem) MUST_USE;
