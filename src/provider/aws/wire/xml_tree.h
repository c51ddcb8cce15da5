/*
 * xml_tree.h: a small XML reply as a tree of elements. Listings of instances have their own reader
 * (instance_reply.h).
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

enum { XML_TREE_ELEMENTS_MAX = 200 * 1000 };

struct xml_element {
    struct str name;
    struct str text; /* direct text; for a leaf its unchanged value */
    struct xml_element *parent;
    struct xml_element *first; /* first child */
    struct xml_element *last;
    struct xml_element *next; /* next sibling */
};

/* Returns the root element. */
bool xml_tree_parse(struct str bytes, struct arena *arena, const struct xml_element **ret_root,
                    struct err *err) MUST_USE;

/* The first child with that name, or NULL. `element` may be NULL. */
const struct xml_element *xml_child(const struct xml_element *element, const char *name);

/* The text of that child; empty if there is none. */
struct str xml_child_text(const struct xml_element *element, const char *name);
