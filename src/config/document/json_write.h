/*
 * json_write.h: writes values as JSON, byte for byte like Python's json.dumps.
 *
 * Ray's hashes are computed over such text, so separators, escapes, key order and number formats
 * all matter.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/document/value.h"

enum json_style {
    JSON_COMPACT, /* ", " and ": " on one line, as json.dumps does by default */
    JSON_SORTED,  /* compact, with sort_keys=True */
    JSON_TIGHT,   /* "," and ":", as with separators=(",", ":") */
    JSON_IN_YAML, /* JSON_COMPACT for YAML readers: characters beyond U+FFFF are not escaped */
    JSON_PRETTY,  /* indented by two blanks; UTF-8 instead of \u escapes */
};

/*
 * With JSON_SORTED, fails where Python would raise: keys of types that do not compare, dates,
 * bytes. The other styles never fail: a date is written as text.
 */
bool json_write(struct buf *out, const struct value *value, enum json_style style,
                struct err *err) MUST_USE;

/* One string, quoted and escaped; with `keep_utf8` without \u escapes if possible. */
void json_add_string(struct buf *out, struct str text, bool keep_utf8);
