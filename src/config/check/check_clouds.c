/* check_clouds.c: keys that a provider requires, for which Ray fails with a KeyError. */
#include "config/check/check.h"

#include "config/workload/quantity.h"

static void check_clouds_need(const struct check *check, const char *key, const char *example)
{
    const struct value *value = value_get_c(value_get_c(check->tree, "provider"), key);
    if (value && value->kind != VALUE_NULL) {
        return;
    }
    struct diag *diag = diag_error(check->diags, "missing-key", check->fallback,
                                   "provider.%s is required for %.*s", key,
                                   STR_ARG(value_text(value_path(check->tree, "provider.type"))));
    diag_hint(check->diags, diag, "add: %s: %s", key, example);
    diag_mark_missing(diag, value_get_c(check->tree, "provider"), str_from(key));
}

/* A number without a unit could be days or seconds. */
static void check_idle_terminate(const struct check *check)
{
    const struct value *value = value_path(check->tree, "metadata.shoal.idle_terminate");
    struct str text = value_text(value);
    int64_t ms;
    bool has_unit = text.len > 0 && (text.ptr[text.len - 1] < '0' || text.ptr[text.len - 1] > '9');
    if (!value || value->kind != VALUE_STRING ||
        (has_unit && quantity_duration(text, &ms) && ms >= 1000)) {
        return; /* the schema reports other types */
    }
    struct diag *diag = diag_error(check->diags, "bad-value", value->place,
                                   "metadata.shoal.idle_terminate must be a time with a unit, not "
                                   "\"%.*s\"",
                                   STR_ARG(str_sub(text, 0, 40)));
    diag_hint(check->diags, diag, "write, for example: idle_terminate: 14d");
}

static void check_access(const struct check *check, struct str type)
{
    const struct value *access = value_path(check->tree, "metadata.shoal.access");
    const struct value *from = value_path(check->tree, "metadata.shoal.ssh_from");
    const struct value *firewall = value_path(check->tree, "metadata.shoal.firewall");
    if (firewall && !str_is(type, "gcp")) {
        diag_warn(check->diags, "ignored-key", firewall->place,
                  "metadata.shoal.firewall has no effect with provider.type %.*s",
                  STR_ARG(str_sub(type, 0, 40)));
    }
    if (!str_is(value_text(access), "ssm")) {
        return;
    }
    if (!str_is(type, "aws")) {
        diag_warn(check->diags, "ignored-key", access->place,
                  "metadata.shoal.access: ssm has no effect with provider.type %.*s",
                  STR_ARG(str_sub(type, 0, 40)));
    } else if (from) {
        diag_warn(check->diags, "ignored-key", from->place,
                  "metadata.shoal.ssh_from has no effect with access: ssm: no port is opened");
    }
}

/* ---- tags and the head's role ---- */

static bool is_label(struct str text, bool is_key)
{
    bool ok = text.len <= 63 && (!is_key || text.len > 0);
    for (size_t i = 0; i < text.len && ok; i++) {
        char c = text.ptr[i];
        bool is_letter = c >= 'a' && c <= 'z';
        ok = is_letter || (!(is_key && i == 0) && ((c >= '0' && c <= '9') || c == '-' || c == '_'));
    }
    return ok;
}

static void check_tag(const struct check *check, const struct value_entry *entry, bool is_gcp)
{
    enum { TAG_KEY_MAX = 128, TAG_VALUE_MAX = 256 };
    struct str key = value_text(entry->key);
    struct str value = value_text(entry->value);
    const char *why = NULL;
    if (str_starts(key, "shoal-") || str_starts(key, "ray-") || str_starts(key, "aws:")) {
        why = "shoal-, ray- and aws: are reserved";
    } else if (is_gcp && (!is_label(key, true) || !is_label(value, false))) {
        why = "labels of Google Cloud have lower-case letters, digits, - and _, at most 63 of "
              "them, and keys begin with a letter";
    } else if (key.len == 0 || key.len > TAG_KEY_MAX || value.len > TAG_VALUE_MAX) {
        why = "a key has 1 to 128 characters, a value at most 256";
    }
    if (why) {
        diag_error(check->diags, "bad-value", entry->key->place,
                   "metadata.shoal.tags: \"%.*s\" cannot be used: %s",
                   STR_ARG(str_sub(key, 0, 100)), why);
    }
}

static void check_tags(const struct check *check, struct str type)
{
    enum { OWN_TAGS_MAX = 20 };
    const struct value *tags = value_path(check->tree, "metadata.shoal.tags");
    bool is_gcp = str_is(type, "gcp");
    if (!value_is(tags, VALUE_MAP)) {
        return; /* the schema reports other types */
    }
    if (!is_gcp && !str_is(type, "aws")) {
        diag_warn(check->diags, "ignored-key", tags->place,
                  "metadata.shoal.tags has no effect with provider.type %.*s",
                  STR_ARG(str_sub(type, 0, 40)));
        return;
    }
    for (size_t i = 0; i < tags->map.count; i++) {
        check_tag(check, &tags->map.entries[i], is_gcp);
    }
    if (tags->map.count > OWN_TAGS_MAX) {
        diag_error(check->diags, "bad-value", tags->place,
                   "metadata.shoal.tags has %zu tags, and at most %d fit", tags->map.count,
                   OWN_TAGS_MAX);
    }
}

static void check_arn(const struct check *check, const char *key, const struct value *value)
{
    if (value_is(value, VALUE_STRING) && !str_starts(value->text, "arn:")) {
        diag_error(check->diags, "bad-value", value->place,
                   "metadata.shoal.%s must be an ARN, not \"%.*s\"", key,
                   STR_ARG(str_sub(value->text, 0, 100)));
    }
}

/* They are for the role that Shoal creates. */
static void check_head_role(const struct check *check, struct str type)
{
    static const char *const keys[] = {"permissions_boundary", "head_policies"};
    const struct value *shoal = value_path(check->tree, "metadata.shoal");
    const struct value *head = value_get(value_get_c(check->tree, "available_node_types"),
                                         value_text(value_get_c(check->tree, "head_node_type")));
    bool has_profile = value_get_c(value_get_c(head, "node_config"), "IamInstanceProfile") != NULL;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct value *value = value_get_c(shoal, keys[i]);
        if (!value) {
            continue;
        }
        if (!str_is(type, "aws") || has_profile) {
            diag_warn(check->diags, "ignored-key", value->place,
                      "metadata.shoal.%s has no effect: %s", keys[i],
                      has_profile ? "the file names the head's IamInstanceProfile"
                                  : "only heads on AWS have a role from Shoal");
        }
        check_arn(check, keys[i], value);
        for (size_t k = 0; value_is(value, VALUE_LIST) && k < value->list.count; k++) {
            check_arn(check, keys[i], value->list.items[k]);
        }
    }
}

/* gcloud finds an instance by its name and zone; ssh gets an address unless the file says so. */
static void check_tunnel(const struct check *check)
{
    const struct value *auth = value_get_c(check->tree, "auth");
    const struct value *command = value_get_c(auth, "ssh_proxy_command");
    struct str text = value_text(command);
    if (str_find(text, "start-iap-tunnel") == SIZE_MAX || str_find(text, "%h") == SIZE_MAX ||
        str_find(text, "--region") != SIZE_MAX ||
        value_is_true(value_get_c(auth, "ssh_proxy_use_node_id"))) {
        return;
    }
    struct diag *diag = diag_warn(check->diags, "bad-value", command->place,
                                  "auth.ssh_proxy_command: gcloud compute start-iap-tunnel needs "
                                  "the name of the instance, and %%h is its address");
    diag_hint(check->diags, diag, "add to auth: ssh_proxy_use_node_id: true");
}

/* Own machines are never stopped or shut down. */
static void check_own_machines(const struct check *check)
{
    static const char *const paths[] = {"metadata.shoal.idle_stop", "metadata.shoal.idle_terminate",
                                        "provider.cache_stopped_nodes"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const struct value *value = value_path(check->tree, paths[i]);
        if (value_is_true(value) && check_is_written(value)) {
            diag_warn(check->diags, "local", value->place,
                      "%s has no effect with provider.type local: own machines keep running",
                      paths[i]);
        }
    }
    const struct value *address = value_path(check->tree, "provider.coordinator_address");
    if (address && check_is_written(address)) {
        struct diag *diag = diag_warn(check->diags, "local", address->place,
                                      "shoal up does not support Ray's coordinator server");
        diag_hint(check->diags, diag, "set provider.head_ip and provider.worker_ips instead");
    }
}

void check_clouds(const struct check *check)
{
    struct str type = value_text(value_path(check->tree, "provider.type"));
    check_idle_terminate(check);
    check_access(check, type);
    check_tags(check, type);
    check_head_role(check, type);
    if (str_is(type, "aws")) {
        check_clouds_need(check, "region", "us-west-2");
    } else if (str_is(type, "gcp")) {
        check_clouds_need(check, "project_id", "my-project");
        check_clouds_need(check, "region", "us-west1");
        check_clouds_need(check, "availability_zone", "us-west1-a");
        check_tunnel(check);
    } else if (str_is(type, "azure")) {
        check_clouds_need(check, "location", "westus2");
        check_clouds_need(check, "resource_group", "ray-cluster");
    } else if (str_is(type, "local")) {
        check_own_machines(check);
    }
}
