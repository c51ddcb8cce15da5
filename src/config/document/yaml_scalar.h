/*
 * yaml_scalar.h: the meaning of plain scalars in YAML.
 *
 * YAML 1.1 as in PyYAML's safe_load, including its oddities: `on` is true, `010` is eight, `1:30`
 * is ninety, `1e3` is text. Pure; tests compare with PyYAML.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "config/document/value.h"

enum yaml_tag {
    YAML_TAG_STR,
    YAML_TAG_NULL,
    YAML_TAG_BOOL,
    YAML_TAG_INT,
    YAML_TAG_FLOAT,
    YAML_TAG_TIMESTAMP,
    YAML_TAG_MERGE, /* << */
    YAML_TAG_VALUE, /* = */
    YAML_TAG_BINARY,
    YAML_TAG_SEQ,
    YAML_TAG_MAP,
    YAML_TAG_SET,
    YAML_TAG_OMAP,
    YAML_TAG_PAIRS,
    YAML_TAG_UNKNOWN,
};

/* The meaning of an untagged plain scalar. */
enum yaml_tag yaml_resolve(struct str text);

/* The meaning of an explicit tag, "tag:yaml.org,2002:int" and so on. */
enum yaml_tag yaml_tag_from(struct str tag);

/*
 * Sets `value` from `text` interpreted as `tag`. Returns false for invalid text (month 13, `!!int
 * many`), with a short reason in `*ret_problem`.
 */
bool yaml_construct(struct arena *arena, enum yaml_tag tag, struct str text, struct value *value,
                    const char **ret_problem) MUST_USE;
