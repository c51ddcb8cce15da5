/*
 * label.h: labels of nodes, and the rules with which requests select nodes.
 *
 * Keys and values are names (intern.h). A node has at most one value per key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct label {
    uint32_t key;
    uint32_t value;
};

struct label_set {
    const struct label *items;
    size_t count;
};

enum label_operator {
    LABEL_IN,     /* the node has the key, with one of the values */
    LABEL_NOT_IN, /* the node lacks the key, or has another value */
    LABEL_NEVER,  /* unknown operator: never satisfied, as in Ray */
};

struct label_rule {
    uint32_t key;
    enum label_operator op;
    const uint32_t *values;
    size_t value_count;
};

/* Satisfied if all rules are; without rules, always. */
struct label_selector {
    const struct label_rule *rules;
    size_t rule_count;
};

/* The value of a key, or NAME_NONE. */
uint32_t label_value(struct label_set set, uint32_t key);

/* Does a node with this value for the rule's key (or NAME_NONE) satisfy the rule? */
bool label_rule_accepts(const struct label_rule *rule, uint32_t value);

/* True for the same rules in the same order; the values within a rule may be in any order. Used for
 * grouping. */
bool label_selectors_same(const struct label_selector *a, const struct label_selector *b,
                          size_t count);
