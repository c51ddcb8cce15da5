/* label.c: looks up labels and evaluates rules. */
#include "core/label.h"

#include "core/intern.h"

uint32_t label_value(struct label_set set, uint32_t key)
{
    for (size_t i = 0; i < set.count; i++) {
        if (set.items[i].key == key) {
            return set.items[i].value;
        }
    }
    return NAME_NONE;
}

static bool has_value(const struct label_rule *rule, uint32_t value)
{
    for (size_t i = 0; i < rule->value_count; i++) {
        if (rule->values[i] == value) {
            return true;
        }
    }
    return false;
}

bool label_rule_accepts(const struct label_rule *rule, uint32_t value)
{
    switch (rule->op) {
    case LABEL_IN:
        return value != NAME_NONE && has_value(rule, value);
    case LABEL_NOT_IN:
        return value == NAME_NONE || !has_value(rule, value);
    case LABEL_NEVER:
        break;
    }
    return false;
}

static bool rules_same(const struct label_rule *a, const struct label_rule *b)
{
    if (a->key != b->key || a->op != b->op || a->value_count != b->value_count) {
        return false;
    }
    for (size_t i = 0; i < a->value_count; i++) {
        if (!has_value(b, a->values[i]) || !has_value(a, b->values[i])) {
            return false;
        }
    }
    return true;
}

bool label_selectors_same(const struct label_selector *a, const struct label_selector *b,
                          size_t count)
{
    for (size_t i = 0; a != b && i < count; i++) {
        if (a[i].rule_count != b[i].rule_count) {
            return false;
        }
        for (size_t j = 0; j < a[i].rule_count; j++) {
            if (!rules_same(&a[i].rules[j], &b[i].rules[j])) {
                return false;
            }
        }
    }
    return true;
}
