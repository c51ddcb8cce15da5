/* gcp_account_read.c: converts items of Google's listings to finds. */
#include "provider/gcp/account/gcp_account_read.h"

#include "provider/gcp/wire/gcp_instance.h"
#include "provider/gcp/wire/gcp_names.h"
#include "provider/host_record.h"
#include "provider/machine_tags.h"

enum { UID_LEN = 32, GB_MAX = 1024 * 1024 };

static struct str gcp_account_uid(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) {
            return STR("");
        }
    }
    return text.len == UID_LEN ? text : STR("");
}

static struct str gcp_account_save(const struct account_basket *basket, struct str text)
{
    return text.len > 0 ? arena_str(basket->arena, text) : STR("");
}

static int64_t gcp_account_time(int64_t moment)
{
    return moment > 0 ? moment : ACCOUNT_NO_TIME;
}

static struct account_owner gcp_account_owner(const struct account_basket *basket,
                                              struct str project, struct str region,
                                              struct str name, struct str uid)
{
    return (struct account_owner){gcp_account_save(basket, region), gcp_account_save(basket, name),
                                  gcp_account_save(basket, gcp_account_uid(uid)), project};
}

static bool gcp_account_fail(struct err *err, const char *what)
{
    return err_set(err, ERR_PROTOCOL, "Google's listing has %s without a name", what);
}

/* Sizes are texts: "50". */
static int64_t gcp_account_gb(const json_t *disk, const char *key)
{
    int64_t gb = host_record_number(disk, key);
    bool is_text = str_to_i64(host_record_text(disk, key), &gb);
    return (is_text || gb > 0) && gb >= 0 && gb <= GB_MAX ? gb : 0;
}

/* ---- instances ---- */

static void gcp_account_add_attached(struct account_basket *basket,
                                     const struct account_machine *machine, const json_t *item)
{
    const json_t *disks = json_object_get(item, "disks");
    for (size_t i = 0; i < json_array_size(disks); i++) {
        const json_t *disk = json_array_get(disks, i);
        struct str name = gcp_last_word(host_record_text(disk, "source"));
        struct account_volume volume = {.owner = machine->owner,
                                        .id = gcp_account_save(basket, name),
                                        .machine = machine->id,
                                        .zone = machine->zone,
                                        .kind = STR("persistent"),
                                        .gb = gcp_account_gb(disk, "diskSizeGb"),
                                        .made_at = ACCOUNT_NO_TIME};
        if (name.len > 0 && str_is(host_record_text(disk, "type"), "PERSISTENT")) {
            account_add_volume(basket, &volume);
        }
    }
}

bool gcp_account_read_instances(struct account_basket *basket, struct str project, json_t *items,
                                struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        AUTO_ARENA struct arena arena = ARENA_HEAP;
        json_t *item = json_array_get(items, i);
        struct machine read;
        if (!gcp_instance_read(item, &arena, &read, err)) {
            return false;
        }
        struct account_machine machine = {
            .owner = gcp_account_owner(basket, project, gcp_region_of(read.zone),
                                       machine_tag_value(&read, "ray-cluster-name"),
                                       machine_tag_value(&read, TAG_CLUSTER_UID)),
            .id = gcp_account_save(basket, read.id),
            .type = gcp_account_save(basket, read.type),
            .zone = gcp_account_save(basket, read.zone),
            .launched_at = gcp_account_time(read.launched_at),
            .state = read.state,
            .market = read.market,
            .is_head = machine_is_head(&read),
            .has_failed = str_is(machine_tag_value(&read, "ray-node-status"), "update-failed"),
            .is_unpriced = true,
            .expires_at = expiry_at(machine_tag_value(&read, TAG_STOPPED), read.launched_at),
        };
        if (machine.owner.name.len + machine.owner.uid.len == 0) {
            continue;
        }
        account_add_machine(basket, &machine);
        if (machine.owner.uid.len == 0) {
            gcp_account_add_attached(basket, &machine, item);
        }
    }
    return true;
}

/* ---- disks ---- */

bool gcp_account_read_disks(struct account_basket *basket, struct str project, json_t *items,
                            struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const json_t *labels = json_object_get(item, "labels");
        const char *user = json_string_value(json_array_get(json_object_get(item, "users"), 0));
        struct str zone = gcp_last_word(host_record_text(item, "zone"));
        struct str region = zone.len > 0 ? gcp_region_of(zone)
                                         : gcp_last_word(host_record_text(item, "region"));
        struct account_volume volume = {
            .owner = gcp_account_owner(basket, project, region,
                                       host_record_text(labels, "ray-cluster-name"),
                                       host_record_text(labels, TAG_CLUSTER_UID)),
            .id = gcp_account_save(basket, host_record_text(item, "name")),
            .machine = gcp_account_save(basket, gcp_last_word(str_from(user ? user : ""))),
            .zone = gcp_account_save(basket, zone),
            .kind = gcp_account_save(basket, gcp_last_word(host_record_text(item, "type"))),
            .gb = gcp_account_gb(item, "sizeGb"),
            .made_at = gcp_account_time(gcp_moment(item, "creationTimestamp")),
        };
        if (!gcp_is_name(volume.id)) {
            return gcp_account_fail(err, "a disk");
        }
        if (volume.owner.uid.len > 0 && !str_is(host_record_text(item, "status"), "DELETING")) {
            account_add_volume(basket, &volume);
        }
    }
    return true;
}

/* ---- firewall rules ---- */

bool gcp_account_read_rules(struct account_basket *basket, struct str project, json_t *items,
                            struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        AUTO_ARENA struct arena arena = ARENA_HEAP;
        const json_t *item = json_array_get(items, i);
        struct str name = host_record_text(item, "name");
        struct str text = host_record_text(item, "description");
        struct str cluster = gcp_rule_cluster(text);
        struct str uid = gcp_account_uid(gcp_rule_uid(text));
        struct str prefix = gcp_rule_prefix(gcp_name_part(cluster, &arena), uid, &arena);
        if (!gcp_is_name(name)) {
            return gcp_account_fail(err, "a firewall rule");
        }
        /* The name has a hash of the cluster's: a name that was cut off is not used. */
        struct account_thing thing = {
            .owner = gcp_account_owner(basket, project, STR(""),
                                       str_starts(name, prefix.ptr) ? cluster : STR(""), uid),
            .kind = THING_RULE,
            .id = gcp_account_save(basket, name),
            .made_at = gcp_account_time(gcp_moment(item, "creationTimestamp")),
            .held_until = ACCOUNT_NO_TIME,
        };
        if (uid.len > 0 && str_starts(name, "shoal-")) {
            account_add_thing(basket, &thing);
        }
    }
    return true;
}

/* ---- leases ---- */

/* The version of the record in this template, and the part of its name; 0: it is none. */
static int64_t gcp_account_version(const json_t *item, const json_t *record, struct arena *arena,
                                   struct str *ret_part)
{
    *ret_part = gcp_name_part(host_record_text(record, "cluster"), arena);
    return gcp_record_version(host_record_text(item, "name"), *ret_part);
}

static bool gcp_account_is_newest(const json_t *items, struct str part, int64_t version)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct str name = host_record_text(json_array_get(items, i), "name");
        if (gcp_record_version(name, part) > version) {
            return false;
        }
    }
    return true;
}

static void gcp_account_add_record(struct account_basket *basket, struct str project,
                                   const json_t *items, const json_t *item, const json_t *record)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct cluster_lease lease = host_record_lease(record);
    struct str home = host_record_text(record, "region");
    struct str part;
    int64_t version = gcp_account_version(item, record, &arena, &part);
    struct account_thing thing = {
        .owner = gcp_account_owner(basket, project, STR(""), host_record_text(record, "cluster"),
                                   lease.uid),
        .kind = THING_RECORD,
        .id = gcp_account_save(basket, host_record_text(item, "name")),
        .made_at = gcp_account_time(gcp_moment(item, "creationTimestamp")),
        .held_until = lease.until,
        .home = gcp_is_name(home) ? gcp_account_save(basket, home) : STR(""),
    };
    if (version > 0 && thing.owner.uid.len > 0 && gcp_account_is_newest(items, part, version)) {
        account_add_thing(basket, &thing);
    }
}

bool gcp_account_read_templates(struct account_basket *basket, struct str project, json_t *items,
                                struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        json_t *record = gcp_record_parse(item);
        if (!gcp_is_name(host_record_text(item, "name"))) {
            json_decref(record);
            return gcp_account_fail(err, "an instance template");
        }
        if (record) {
            gcp_account_add_record(basket, project, items, item, record);
        }
        json_decref(record);
    }
    return true;
}
