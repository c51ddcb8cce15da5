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
