/* yaml_write.h: values as YAML that people can read and every YAML reader reads back the same. */
#pragma once

#include "base/buf.h"
#include "config/document/value.h"

/* Block style, two blanks of indent, quotes only where a bare word would mean something else. */
void yaml_write(struct buf *out, const struct value *value);
