/* check_clouds.c: what a provider cannot do without, and Ray finds out by a KeyError. */
#include "config/check/check.h"

static void need(const struct check *check, const char *key, const char *example)
{
    const struct value *value = value_get_c(value_get_c(check->tree, "provider"), key);
    if (value && value->kind != VALUE_NULL) {
        return;
    }
    struct diag *diag = diag_error(check->diags, "missing-key", check->fallback,
                                   "provider.%s is needed for %.*s", key,
                                   STR_ARG(value_text(value_path(check->tree, "provider.type"))));
    diag_hint(check->diags, diag, "add: %s: %s", key, example);
    diag_mark_missing(diag, value_get_c(check->tree, "provider"), str_from(key));
}

void check_clouds(const struct check *check)
{
    struct str type = value_text(value_path(check->tree, "provider.type"));
    if (str_is(type, "aws")) {
        need(check, "region", "us-west-2");
    } else if (str_is(type, "gcp")) {
        need(check, "project_id", "my-project");
        need(check, "region", "us-west1");
        need(check, "availability_zone", "us-west1-a");
    } else if (str_is(type, "azure")) {
        need(check, "location", "westus2");
        need(check, "resource_group", "ray-cluster");
    }
}
