/* yaml_write.h: writes values as readable YAML that reads back unchanged. */
#pragma once

#include "base/buf.h"
#include "config/document/value.h"

/* Block style, indented by two blanks, quoted only if necessary. */
void yaml_write(struct buf *out, const struct value *value);
