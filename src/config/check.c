/* check.c: running the checks, and what they share. */
#include "config/check.h"

#include "config/config.h"
#include "config/schema.h"

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

void config_check(const struct value *tree, const struct host *host, struct diag_list *diags)
{
    const struct value_entry *provider = value_entry_c(tree, "provider");
    struct check check = {.tree = tree,
                          .host = host,
                          .diags = diags,
                          .arena = diags->arena,
                          .fallback = provider ? provider->key->place : tree->place};
    schema_check_unread(tree, diags);
    check_names(&check);
    check_clouds(&check);
    check_files(&check);
    check_commands(&check);
    check_workers(&check);
    if (str_is(value_text(value_path(tree, "provider.type")), "aws")) {
        check_aws(&check);
    }
}
