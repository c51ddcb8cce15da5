/* check_gcp.c: predicts Compute Engine's reply to a cluster file as far as possible offline. */
#include "config/check/check.h"

#include "base/utf8.h"
#include "config/catalog/gce_machine.h"
#include "config/prepare/autofill_gce.h"
#include "config/prepare/autofill_tpu.h"

enum { GCP_NAME_MAX = 63 };

/* ---- names ---- */

static bool check_gcp_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool check_gcp_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* True if `text` has only small letters, digits and characters of `more`. */
static bool check_gcp_has_only(struct str text, struct str more)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!check_gcp_is_lower(text.ptr[i]) && !check_gcp_is_digit(text.ptr[i]) &&
            str_find_char(more, text.ptr[i]) == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

/* [a-z]([-a-z0-9]*[a-z0-9])?, at most `most` characters */
static bool check_gcp_is_name(struct str text, size_t most)
{
    return text.len > 0 && text.len <= most && check_gcp_is_lower(text.ptr[0]) &&
           text.ptr[text.len - 1] != '-' && check_gcp_has_only(text, STR("-"));
}

/* The value of a label; small letters of other alphabets are left to Google to judge. */
static bool check_gcp_is_label(struct str text)
{
    size_t characters = 0;
    for (size_t i = 0; i < text.len; characters++) {
        size_t len = 1;
        bool is_ascii = (unsigned char)text.ptr[i] < 0x80;
        if (is_ascii && !check_gcp_has_only(str_sub(text, i, i + 1), STR("-_"))) {
            return false;
        }
        if (!is_ascii) {
            utf8_decode(str_sub(text, i, text.len), &len);
        }
        i += len;
    }
    return characters <= GCP_NAME_MAX;
}

/* Shoal's names of instances contain a hash, and its tags are not only labels. Ray's contain the
 * name itself: "ray-NAME-worker-XXXXXXXX-compute". */
static void check_gcp_cluster_name(const struct check *check)
{
    enum { OTHER_CHARACTERS = 28 };
    const struct value *name = value_get_c(check->tree, "cluster_name");
    if (value_is(name, VALUE_STRING) && check_is_written(name) &&
        (name->text.len > GCP_NAME_MAX - OTHER_CHARACTERS ||
         !check_gcp_has_only(name->text, STR("-")))) {
        struct diag *diag = diag_warn(check->diags, "cluster-name", name->place,
                                      "cluster_name \"%.*s\" cannot be part of the name of a "
                                      "Compute Engine instance, which makes `ray up` fail",
                                      STR_ARG(str_sub(name->text, 0, 80)));
        diag_hint(check->diags, diag, "use at most %d small letters, digits and -",
                  GCP_NAME_MAX - OTHER_CHARACTERS);
    }
}

static void check_gcp_type_name(const struct check *check, const struct value *key)
{
    if (value_is(key, VALUE_STRING) && check_is_written(key) && !check_gcp_is_label(key->text)) {
        struct diag *diag = diag_warn(check->diags, "label", key->place,
                                      "the name of node type \"%.*s\" cannot be the value of a "
                                      "Google Cloud label, which makes `ray up` fail",
                                      STR_ARG(str_sub(key->text, 0, 80)));
        diag_hint(check->diags, diag, "use at most 63 small letters, digits, - and _");
    }
}

static void check_gcp_labels(const struct check *check, const struct value *labels)
{
    for (size_t i = 0; value_is(labels, VALUE_MAP) && i < labels->map.count; i++) {
        const struct value *key = labels->map.entries[i].key;
        const struct value *value = labels->map.entries[i].value;
        if (value->kind != VALUE_STRING && value->kind != VALUE_NULL) {
            struct diag *diag = diag_error(check->diags, "label", value->place,
                                           "the value of label %.*s must be text, not %s",
                                           STR_ARG(value_text(key)), value_kind_text(value));
            diag_hint(check->diags, diag, "put it in quotes");
        } else if (key->kind != VALUE_STRING || key->text.len == 0 ||
                   check_gcp_is_digit(key->text.ptr[0]) || key->text.ptr[0] == '-' ||
                   key->text.ptr[0] == '_' || !check_gcp_is_label(key->text) ||
                   !check_gcp_is_label(value_text(value))) {
            struct diag *diag = diag_error(check->diags, "label", key->place,
                                           "Google Cloud does not accept the label \"%.*s\"",
                                           STR_ARG(str_sub(value_text(key), 0, 80)));
            diag_hint(check->diags, diag,
                      "use at most 63 small letters, digits, - and _; a key starts with a letter");
        }
    }
}

static void check_gcp_tags(const struct check *check, const struct value *tags)
{
    for (size_t i = 0; value_is(tags, VALUE_LIST) && i < tags->list.count; i++) {
        const struct value *tag = tags->list.items[i];
        if (!check_gcp_is_name(value_text(tag), GCP_NAME_MAX)) {
            struct diag *diag = diag_error(check->diags, "label", tag->place,
                                           "Compute Engine does not accept the network tag "
                                           "\"%.*s\"",
                                           STR_ARG(str_sub(value_text(tag), 0, 80)));
            diag_hint(check->diags, diag, "use at most 63 small letters, digits and -");
        }
    }
}

/* ---- the provider section ---- */

/* "us-west1-a" is a zone, "us-west1" is a region. */
static bool check_gcp_is_zone(struct str text)
{
    return text.len > 2 && text.ptr[text.len - 2] == '-' &&
           check_gcp_is_lower(text.ptr[text.len - 1]) && check_gcp_is_digit(text.ptr[text.len - 3]);
}

static void check_gcp_place(const struct check *check)
{
    const struct value *region = value_path(check->tree, "provider.region");
    const struct value *zones = value_path(check->tree, "provider.availability_zone");
    if (!value_is(region, VALUE_STRING)) {
        return;
    }
    if (check_gcp_is_zone(region->text)) {
        struct diag *diag = diag_error(check->diags, "region", region->place,
                                       "\"%.*s\" is a zone, not a region", STR_ARG(region->text));
        diag_hint(check->diags, diag, "region: %.*s",
                  STR_ARG(str_sub(region->text, 0, region->text.len - 2)));
        return;
    }
    struct str rest = value_is(zones, VALUE_STRING) ? zones->text : STR("");
    while (rest.len > 0) {
        struct str zone = str_trim(str_cut(&rest, ','));
        struct str name = str_sub(zone, region->text.len, zone.len); /* "-a", "-ai1a" */
        bool is_inside = name.len > 1 && name.ptr[0] == '-' &&
                         check_gcp_is_lower(name.ptr[name.len - 1]) &&
                         check_gcp_has_only(str_sub(name, 1, name.len), STR("")) &&
                         str_eq(str_sub(zone, 0, region->text.len), region->text);
        if (!is_inside) {
            struct diag *diag = diag_error(check->diags, "region", zones->place,
                                           "\"%.*s\" is not a zone of region %.*s", STR_ARG(zone),
                                           STR_ARG(region->text));
            diag_hint(check->diags, diag, "a zone is a region and a letter, as in %.*s-a",
                      STR_ARG(region->text));
            return;
        }
    }
}

static void check_gcp_project(const struct check *check)
{
    const struct value *project = value_path(check->tree, "provider.project_id");
    if (value_is(project, VALUE_STRING) && check_is_written(project) &&
        (project->text.len == 0 || !check_gcp_has_only(project->text, STR("-.:")))) {
        struct diag *diag = diag_error(check->diags, "bad-value", project->place,
                                       "\"%.*s\" is not the ID of a Google Cloud project",
                                       STR_ARG(str_sub(project->text, 0, 80)));
        diag_hint(check->diags, diag,
                  "use its ID, not its name: small letters, digits and -, as in "
                  "`gcloud projects list`");
    }
}

static void check_gcp_credentials(const struct check *check)
{
    const struct value_entry *entry = value_entry_c(value_get_c(check->tree, "provider"),
                                                    "gcp_credentials");
    const struct value *text = entry ? value_get_c(entry->value, "credentials") : NULL;
    if (!entry || !value_is(entry->value, VALUE_MAP)) {
        return;
    }
    if (!text) {
        struct diag *diag = diag_error(check->diags, "missing-key", entry->key->place,
                                       "provider.gcp_credentials has no credentials");
        diag_hint(check->diags, diag,
                  "remove gcp_credentials to use `gcloud auth application-default login`");
    } else if (str_is(value_text(value_get_c(entry->value, "type")), "service_account") &&
               !str_starts(str_trim(value_text(text)), "{")) {
        struct diag *diag = diag_error(check->diags, "bad-value", text->place,
                                       "credentials of a service_account must be the JSON text of "
                                       "its key");
        diag_hint(check->diags, diag,
                  "to use a file, remove gcp_credentials and set GOOGLE_APPLICATION_CREDENTIALS");
    }
}

/* ---- machines ---- */

/* The value of a scheduling option; Ray's examples write a list of maps. */
static const struct value *check_gcp_option(const struct value *node, const char *name)
{
    const struct value *scheduling = value_get_c(node, "scheduling");
    const struct value *found = value_get_c(scheduling, name);
    for (size_t i = 0; value_is(scheduling, VALUE_LIST) && i < scheduling->list.count; i++) {
        const struct value *here = value_get_c(scheduling->list.items[i], name);
        found = here ? here : found;
    }
    return found;
}

static const struct value *check_gcp_item(const struct value *node, const char *key)
{
    const struct value *items = value_path(node, "metadata.items");
    for (size_t i = 0; value_is(items, VALUE_LIST) && i < items->list.count; i++) {
        const struct value *item = items->list.items[i];
        if (str_is(value_text(value_get_c(item, "key")), key)) {
            return value_get_c(item, "value");
        }
    }
    return NULL;
}

/* Plain images have no driver: Ray places tasks on the node, and they fail in CUDA. Images of other
 * projects are custom, or have a driver. */
static void check_gcp_driver(const struct check *check, const struct value_entry *type)
{
    static const char *const plain[] = {"ubuntu-os-cloud",   "debian-cloud", "centos-cloud",
                                        "rocky-linux-cloud", "rhel-cloud",   "suse-cloud"};
    const struct value *node = value_get_c(type->value, "node_config");
    const struct value *disks = value_get_c(node, "disks");
    bool has_disk = value_is(disks, VALUE_LIST) && disks->list.count > 0;
    const struct value *image = value_path(has_disk ? disks->list.items[0] : NULL,
                                           "initializeParams.sourceImage");
    struct str rest = value_text(image);
    size_t at = str_find(rest, "projects/");
    rest = str_sub(rest, at == SIZE_MAX ? rest.len : at, rest.len);
    (void)str_cut(&rest, '/');
    struct str project = str_cut(&rest, '/');
    bool is_lazy = str_is(project, "deeplearning-platform-release") &&
                   !value_is_true(check_gcp_item(node, "install-nvidia-driver"));
    bool is_plain = false;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        is_plain = is_plain || str_is(project, plain[i]);
    }
    if ((is_plain || is_lazy) && !check_gcp_item(node, "startup-script")) {
        struct diag *diag = diag_warn(
            check->diags, "gpu-driver", image->place, "node type %.*s has GPUs, and this image %s",
            STR_ARG(value_text(type->key)),
            is_plain ? "has no NVIDIA driver" : "installs its driver only on request");
        diag_hint(check->diags, diag,
                  is_plain
                      ? "use, for example, projects/ubuntu-os-accelerator-images/global/images/"
                        "family/ubuntu-accelerator-2204-amd64-with-nvidia-580"
                      : "add to node_config: metadata: {items: [{key: install-nvidia-driver, "
                        "value: \"True\"}]}");
    }
}

static void check_gcp_scheduling(const struct check *check, const struct value_entry *type,
                                 const struct machine_type *machine)
{
    const struct value *node = value_get_c(type->value, "node_config");
    const struct value *model = check_gcp_option(node, "provisioningModel");
    bool is_spot = value_is_true(check_gcp_option(node, "preemptible")) ||
                   str_is(value_text(model), "SPOT");
    if (is_spot && check_is_head(check, type)) {
        struct diag *diag = diag_warn(check->diags, "spot-head",
                                      value_entry_c(node, "scheduling")->key->place,
                                      "the head is a spot instance: if Compute Engine preempts "
                                      "it, the cluster is lost");
        diag_hint(check->diags, diag, "use spot instances for workers only");
    }
    bool has_gpus = machine->gpus > 0 || value_is_true(value_get_c(node, "guestAccelerators"));
    if (has_gpus) {
        check_gcp_driver(check, type);
    }
    struct str action = value_text(check_gcp_option(node, "onHostMaintenance"));
    if (has_gpus && !is_spot && !str_is(action, "TERMINATE") &&
        !value_get_c(node, "sourceInstanceTemplate")) {
        struct diag *diag = diag_warn(check->diags, "gpu-maintenance", type->key->place,
                                      "node type %.*s has GPUs, and Compute Engine does not move "
                                      "such an instance to another host",
                                      STR_ARG(value_text(type->key)));
        diag_hint(check->diags, diag,
                  "add to node_config: scheduling: {onHostMaintenance: TERMINATE}");
    }
}

/* More than the machine has: tasks are placed on nodes that cannot run them. */
static void check_gcp_amount(const struct check *check, const struct value_entry *type,
                             const char *resource, uint32_t has, struct str machine)
{
    const struct value *amount = value_get_c(value_get_c(type->value, "resources"), resource);
    double number;
    if (amount && check_is_written(amount) && value_number(amount, &number) && number > has) {
        diag_warn(check->diags, "machine-resources", amount->place,
                  "node type %.*s declares %.0f %s%s, and %.*s has %u",
                  STR_ARG(value_text(type->key)), number, resource, number == 1 ? "" : "s",
                  STR_ARG(machine), has);
    }
}

static void check_gcp_machine(const struct check *check, const struct value_entry *type,
                              const struct value *name)
{
    const struct value *node = value_get_c(type->value, "node_config");
    struct machine_type machine = {0};
    bool is_url = str_find_char(name->text, '/') != SIZE_MAX;
    if (name->text.len == 0 || (!is_url && !check_gcp_is_name(name->text, GCP_NAME_MAX))) {
        struct diag *diag = diag_error(check->diags, "unknown-machine", name->place,
                                       "\"%.*s\" is not the name of a Compute Engine machine type",
                                       STR_ARG(str_sub(name->text, 0, 80)));
        diag_hint(check->diags, diag, "names look like n2-standard-8");
    } else if (gce_machine_of(check->arena, node, &machine)) {
        check_gcp_amount(check, type, "CPU", machine.vcpus, machine.name);
        check_gcp_amount(check, type, "GPU", machine.gpus, machine.name);
    } else if (gce_machine_nearest(check->arena, name->text).len > 0 &&
               !diag_has(check->diags, "unknown-machine", name->place)) {
        autofill_gce_report(check->arena, check->diags, DIAG_WARNING, name);
    }
    check_gcp_scheduling(check, type, &machine);
}

static void check_gcp_tpu(const struct check *check, const struct value_entry *type)
{
    const struct value *node = value_get_c(type->value, "node_config");
    const struct value_entry *by_type = value_entry_c(node, "acceleratorType");
    const struct value_entry *by_config = value_entry_c(node, "acceleratorConfig");
    struct place place = (by_type ? by_type : by_config)->key->place;
    struct str tpu;
    if (!autofill_tpu_find(check->arena, node, &tpu)) {
        struct diag *diag = diag_error(check->diags, "tpu", place,
                                       by_type && by_config
                                           ? "a TPU has an acceleratorType or an "
                                             "acceleratorConfig, not both"
                                           : "this is not a TPU type that Ray knows");
        diag_hint(check->diags, diag,
                  "write, for example: acceleratorType: v4-8, or acceleratorConfig: {type: V4, "
                  "topology: 2x2x1}");
    } else if (autofill_tpu_is_pod(tpu)) {
        struct diag *diag = diag_error(check->diags, "tpu", place,
                                       "TPU %.*s is a pod of several hosts, which Shoal does not "
                                       "support: all hosts of a pod are created and deleted "
                                       "together, and Shoal scales single nodes",
                                       STR_ARG(tpu));
        diag_hint(check->diags, diag, "use `ray up` for clusters with TPUs");
    } else {
        struct diag *diag = diag_error(check->diags, "tpu", place,
                                       "`shoal up` cannot launch TPU nodes: it creates Compute "
                                       "Engine instances only");
        diag_hint(check->diags, diag, "use `ray up` for clusters with TPUs");
    }
}

/* False, empty, or a map of such: the launch leaves it out. */
static bool check_gcp_is_void(const struct value *value)
{
    if (value_is(value, VALUE_MAP)) {
        bool is_void = true;
        for (size_t i = 0; i < value->map.count; i++) {
            is_void = is_void && check_gcp_is_void(value->map.entries[i].value);
        }
        return is_void;
    }
    return !value_is_true(value);
}

/* Fields of an instance that Google's bulkInsert, by which Shoal launches, does not have. */
static void check_gcp_fields(const struct check *check, const struct value *node)
{
    static const char *const fields[] = {
        "deletionProtection",    "displayDevice",
        "instanceEncryptionKey", "shieldedInstanceIntegrityPolicy",
        "sourceMachineImage",    "sourceMachineImageEncryptionKey"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct value_entry *entry = value_entry_c(node, fields[i]);
        if (entry && !check_gcp_is_void(entry->value)) {
            struct diag *diag = diag_error(check->diags, "unsupported", entry->key->place,
                                           "Shoal cannot launch instances with %s: Google's "
                                           "bulkInsert does not have it",
                                           fields[i]);
            diag_hint(check->diags, diag, "remove it");
        }
    }
}

static void check_gcp_node(const struct check *check, const struct value_entry *type)
{
    const struct value *node = value_get_c(type->value, "node_config");
    check_gcp_type_name(check, type->key);
    if (!value_is(node, VALUE_MAP) || !check_is_written(node)) {
        return;
    }
    const struct value *machine = value_get_c(node, "machineType");
    if ((!machine || value_is(machine, VALUE_NULL)) &&
        (value_get_c(node, "acceleratorType") || value_get_c(node, "acceleratorConfig"))) {
        check_gcp_tpu(check, type);
        return;
    }
    check_params(check, CATALOG_GCE, node);
    check_gcp_fields(check, node);
    check_gcp_labels(check, value_get_c(node, "labels"));
    const struct value *disks = value_get_c(node, "disks");
    for (size_t i = 0; value_is(disks, VALUE_LIST) && i < disks->list.count; i++) {
        check_gcp_labels(check, value_path(disks->list.items[i], "initializeParams.labels"));
    }
    check_gcp_tags(check, value_path(node, "tags.items"));
    if (!machine) {
        struct diag *diag = diag_error(check->diags, "missing-key", type->key->place,
                                       "node type %.*s has no machineType in its node_config",
                                       STR_ARG(value_text(type->key)));
        diag_hint(check->diags, diag, "add: machineType: n2-standard-8");
    } else if (machine->kind == VALUE_STRING) {
        check_gcp_machine(check, type, machine);
    } else if (!diag_has(check->diags, "wrong-type", machine->place)) {
        diag_error(check->diags, value_is(machine, VALUE_NULL) ? "bad-value" : "wrong-type",
                   machine->place, "machineType must be text, not %s", value_kind_text(machine));
    }
}

void check_gcp(const struct check *check)
{
    const struct value *types = check_node_types(check);
    check_gcp_cluster_name(check);
    check_gcp_place(check);
    check_gcp_project(check);
    check_gcp_credentials(check);
    for (size_t i = 0; i < types->map.count; i++) {
        check_gcp_node(check, &types->map.entries[i]);
    }
}
