/* check_tree.c: queries on the tree shared by several checks. */
#include "config/check/check.h"

const struct value *check_node_types(const struct check *check)
{
    static const struct value none = {.kind = VALUE_MAP};
    const struct value *types = value_get_c(check->tree, "available_node_types");
    return value_is(types, VALUE_MAP) ? types : &none;
}

bool check_is_head(const struct check *check, const struct value_entry *type)
{
    const struct value *head = value_get_c(check->tree, "head_node_type");
    return head && value_equal(type->key, head);
}

bool check_is_written(const struct value *value)
{
    return value && place_is_users(value->place);
}
