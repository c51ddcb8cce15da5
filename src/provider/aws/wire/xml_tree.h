/*
 * xml_tree.h: a small XML reply as a tree of elements, for replies that are read once and are not
 * large. Listings of machines have their own reader (instance_reply.h).
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

enum { XML_TREE_ELEMENTS_MAX = 200 * 1000 };

struct xml_element {
    struct str name;
    struct str text; /* what stands directly in it; for a leaf its value as it stands */
    struct xml_element *parent;
    struct xml_element *first; /* child */
    struct xml_element *last;
    struct xml_element *next; /* of the same parent */
};

/* The root element. */
bool xml_tree_parse(struct str bytes, struct arena *arena, const struct xml_element **ret_root,
                    struct err *err) MUST_USE;

/* The first child of that name, NULL when there is none. NULL has no children. */
const struct xml_element *xml_child(const struct xml_element *element, const char *name);

/* The text of that child; empty when there is none. */
struct str xml_child_text(const struct xml_element *element, const char *name);
