/* check.c: runs the checks. */
#include "config/check/check.h"

#include "config/config.h"
#include "config/schema/schema.h"

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
    check_release(&check);
    struct str type = value_text(value_path(tree, "provider.type"));
    if (str_is(type, "aws")) {
        check_aws(&check);
    } else if (str_is(type, "gcp")) {
        check_gcp(&check);
    }
}
