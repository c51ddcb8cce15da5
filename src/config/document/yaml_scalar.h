/*
 * yaml_scalar.h: what a plain word in a YAML file means.
 *
 * The rules are YAML 1.1 as PyYAML's safe_load applies them, oddities included: `on` is true,
 * `010` is eight, `1:30` is ninety, `1e3` is text. Pure functions; the tests hold them against
 * PyYAML itself.
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

/* The meaning of a written tag, "tag:yaml.org,2002:int" and so on. */
enum yaml_tag yaml_tag_from(struct str tag);

/*
 * Fills `value` from `text` read as `tag`. False when the text is not one (a month 13, `!!int
 * many`); then `*ret_problem` says what is wrong in a few words.
 */
bool yaml_construct(struct arena *arena, enum yaml_tag tag, struct str text, struct value *value,
                    const char **ret_problem) MUST_USE;
