/* check_params.c: compares a node_config with the table of launch parameters of the cloud's API. */
#include "config/check/check.h"

#include "base/suggest.h"

struct param_check {
    const struct check *check;
    enum catalog_api api;
    const char *cloud; /* "EC2" */
};

/* Keys of a node_config that belong to Ray, not to the API. */
static bool check_params_is_rays(const struct param_check *params, struct str path)
{
    static const char *const google[] = {"networkConfig", "sourceInstanceTemplate"};
    for (size_t i = 0; params->api == CATALOG_GCE && i < ARRAY_LEN(google); i++) {
        if (str_is(path, google[i])) {
            return true;
        }
    }
    return params->api == CATALOG_EC2 && str_is(path, "SubnetIds");
}

static void check_params_report(const struct param_check *params, struct str parent,
                                const struct value *key)
{
    struct diag_list *diags = params->check->diags;
    struct str best = diag_is_crowded(diags, DIAG_ERROR)
                          ? STR("")
                          : catalog_param_nearest(params->api, parent, key->text);
    if (best.len > 0) {
        struct diag *diag = diag_error(
            diags, "unknown-parameter", key->place, "%s has no launch parameter \"%.*s\"%s%.*s",
            params->cloud, STR_ARG(key->text), parent.len > 0 ? " in " : "", STR_ARG(parent));
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    } else {
        diag_warn(diags, "unknown-parameter", key->place,
                  "\"%.*s\" is not %s launch parameter that Shoal knows", STR_ARG(key->text),
                  params->api == CATALOG_EC2 ? "an EC2" : "a Compute Engine");
    }
}

/* True for the digits of a whole number, which Google accepts as text. */
static bool check_params_is_digits(const struct value *value)
{
    int64_t number;
    return value->kind == VALUE_STRING && str_to_i64(value->text, &number);
}

/* True if the API would accept a value of this kind for a parameter of that type. */
static bool check_params_fits(const struct param_check *params, const struct value *value,
                              struct str type)
{
    bool is_google = params->api == CATALOG_GCE;
    if (is_google && (value->kind == VALUE_NULL || str_is(type, "ignored"))) {
        return true; /* Google takes null as unset */
    }
    if (str_is(type, "string")) {
        return value->kind == VALUE_STRING || value->kind == VALUE_DATE ||
               value->kind == VALUE_DATE_TIME;
    }
    if (str_is(type, "integer") || str_is(type, "int64")) {
        return value->kind == VALUE_INT || (is_google && check_params_is_digits(value));
    }
    if (str_is(type, "boolean")) {
        return value->kind == VALUE_BOOL;
    }
    if (str_is(type, "object") || str_is(type, "labels")) {
        return value->kind == VALUE_MAP;
    }
    return !str_is(type, "array") || value->kind == VALUE_LIST;
}

static const char *check_params_type_text(struct str type)
{
    static const char *const words[][2] = {
        {"string", "text"},           {"integer", "a whole number"}, {"int64", "a whole number"},
        {"boolean", "true or false"}, {"object", "a map"},           {"labels", "a map"},
        {"array", "a list"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_is(type, words[i][0])) {
            return words[i][1];
        }
    }
    return "a number";
}

static void check_params_value(const struct param_check *params, struct str path,
                               const struct value *value)
{
    struct diag_list *diags = params->check->diags;
    struct str values = catalog_param_values(params->api, path);
    struct suggest suggest;
    if (params->api == CATALOG_EC2 || values.len == 0 || value->kind != VALUE_STRING) {
        return;
    }
    suggest_start(&suggest, value->text);
    for (struct str rest = values; rest.len > 0;) {
        struct str one = str_cut(&rest, '|');
        if (str_eq(one, value->text)) {
            return;
        }
        suggest_offer(&suggest, one);
    }
    struct str best = suggest_best(&suggest);
    struct diag *diag = diag_add(diags, best.len > 0 ? DIAG_ERROR : DIAG_WARNING, "bad-value",
                                 value->place, "\"%.*s\" is not a value of %.*s that Shoal knows",
                                 STR_ARG(str_sub(value->text, 0, 60)), STR_ARG(path));
    if (best.len > 0) {
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    }
}

static void check_params_map(const struct param_check *params, struct str parent,
                             const struct value *node);

static void check_params_inside(const struct param_check *params, struct str path,
                                const struct value *value)
{
    struct str item_path = arena_printf(params->check->arena, "%.*s[]", STR_ARG(path));
    if (value->kind == VALUE_MAP && catalog_param_is_open(params->api, path)) {
        check_params_map(params, path, value);
    }
    for (size_t i = 0; value->kind == VALUE_LIST && i < value->list.count; i++) {
        const struct value *item = value->list.items[i];
        bool is_open = catalog_param_is_open(params->api, item_path);
        if (item->kind == VALUE_MAP && is_open) {
            check_params_map(params, item_path, item);
        } else if (is_open && params->api == CATALOG_GCE) {
            diag_error(params->check->diags, "wrong-type", item->place,
                       "%s expects a map for each item of %.*s, not %s", params->cloud,
                       STR_ARG(path), value_kind_text(item));
        }
    }
}

static void check_param(const struct param_check *params, struct str path,
                        const struct value *value)
{
    struct str type = catalog_param_type(params->api, path);
    if (params->api == CATALOG_EC2 && str_is(path, "LaunchTemplate.Version") &&
        value->kind == VALUE_INT) {
        return; /* Ray converts it to text for EC2 */
    }
    if (params->api == CATALOG_GCE && str_is(path, "scheduling") && value->kind == VALUE_LIST) {
        /* Ray's own examples write a list of maps for this map. */
        for (size_t i = 0; i < value->list.count; i++) {
            check_param(params, path, value->list.items[i]);
        }
        return;
    }
    if (!check_params_fits(params, value, type)) {
        diag_error(params->check->diags, "wrong-type", value->place,
                   "%s expects %s for %.*s, not %s", params->cloud, check_params_type_text(type),
                   STR_ARG(path), value_kind_text(value));
        return;
    }
    check_params_value(params, path, value);
    check_params_inside(params, path, value);
}

/* Follows the table: a parameter whose members are listed can have no others. */
static void check_params_map(const struct param_check *params, struct str parent,
                             const struct value *node)
{
    for (size_t i = 0; i < node->map.count; i++) {
        const struct value_entry *entry = &node->map.entries[i];
        struct str name = value_text(entry->key);
        struct str path = parent.len > 0 ? arena_printf(params->check->arena, "%.*s.%.*s",
                                                        STR_ARG(parent), STR_ARG(name))
                                         : name;
        if (name.len == 0 || check_params_is_rays(params, path)) {
            continue;
        }
        bool is_known = parent.len > 0 ? catalog_param_type(params->api, path).len > 0
                                       : catalog_param(params->api, name);
        if (!is_known) {
            check_params_report(params, parent, entry->key);
        } else if (!str_is(path, "InstanceType") && !str_is(path, "machineType")) {
            check_param(params, path, entry->value);
        }
    }
}

void check_params(const struct check *check, enum catalog_api api, const struct value *node)
{
    struct param_check params = {check, api, api == CATALOG_EC2 ? "EC2" : "Compute Engine"};
    check_params_map(&params, STR(""), node);
}
