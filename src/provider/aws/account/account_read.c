/* account_read.c: converts XML elements to finds. */
#include "provider/aws/account/account_read.h"

#include "provider/aws/cluster/aws_names.h"
#include "provider/aws_time.h"

#include <stdlib.h>

/* Included in the price of a gp3 volume. */
enum { GP3_IOPS = 3000, GP3_THROUGHPUT = 125, REGIONS_MAX = 200, GB_MAX = 1024 * 1024 };

/* ---- machines ---- */

static enum machine_state account_read_state_of(uint8_t state)
{
    switch ((enum instance_state)state) {
    case INSTANCE_PENDING:
        return MACHINE_PENDING;
    case INSTANCE_RUNNING:
        return MACHINE_RUNNING;
    case INSTANCE_SHUTTING_DOWN:
        return MACHINE_ENDING;
    case INSTANCE_TERMINATED:
        return MACHINE_GONE;
    case INSTANCE_STOPPING:
        return MACHINE_STOPPING;
    case INSTANCE_STOPPED:
        return MACHINE_STOPPED;
    case INSTANCE_STATE_OTHER:
        break;
    }
    return MACHINE_RUNNING; /* unknown state: assume that it costs money */
}

static struct str tag_of(const struct instance_record *record, const char *key)
{
    for (uint32_t i = 0; i < record->tag_count; i++) {
        if (str_is(record->tags[i].key, key)) {
            return record->tags[i].value;
        }
    }
    return STR("");
}

void account_add_machines(struct account_basket *basket, struct str region,
                          const struct instance_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct instance_record *record = &list->items[i];
        struct account_machine machine = {
            .owner = {region, tag_of(record, ACCOUNT_TAG_NAME), tag_of(record, TAG_CLUSTER_UID)},
            .id = record->id,
            .type = record->type,
            .zone = record->zone,
            .launched_at = record->launched_at,
            .state = account_read_state_of(record->state),
            .market = record->market == INSTANCE_SPOT ? MARKET_SPOT : MARKET_ON_DEMAND,
            .is_head = str_is(tag_of(record, ACCOUNT_TAG_KIND), "head"),
            .has_failed = str_is(tag_of(record, ACCOUNT_TAG_STATUS), "update-failed"),
            .has_public_ip = record->public_ip.len > 0,
            .is_unpriced = record->market == INSTANCE_RESERVED_BLOCK,
            .expires_at = expiry_at(tag_of(record, TAG_STOPPED), record->launched_at),
        };
        account_add_machine(basket, &machine);
    }
}

/* ---- tagged resources ---- */

/* Copies text, because the page is freed after reading. */
static struct str account_read_save(const struct account_basket *basket, struct str text)
{
    return text.len > 0 ? arena_str(basket->arena, text) : STR("");
}

static struct account_owner owner_of(const struct account_basket *basket,
                                     const struct xml_element *item, struct str region)
{
    struct account_owner owner = {.region = region, .name = STR(""), .uid = STR("")};
    const struct xml_element *tags = xml_child(item, "tagSet");
    for (const struct xml_element *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        struct str key = xml_child_text(tag, "key");
        if (str_is(key, ACCOUNT_TAG_NAME)) {
            owner.name = account_read_save(basket, xml_child_text(tag, "value"));
        } else if (str_is(key, TAG_CLUSTER_UID)) {
            owner.uid = account_read_save(basket, xml_child_text(tag, "value"));
        }
    }
    return owner;
}

static int64_t time_of(const struct xml_element *item, const char *name)
{
    int64_t moment;
    return aws_time_parse(xml_child_text(item, name), &moment) ? moment : ACCOUNT_NO_TIME;
}

/* Reads the lease tag, "EPOCH UNTIL", of a lease object: renewed by the process that creates or
 * changes the cluster. */
static int64_t held_until(const struct xml_element *item)
{
    const struct xml_element *tags = xml_child(item, "tagSet");
    int64_t until = ACCOUNT_NO_TIME;
    for (const struct xml_element *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        struct str rest = xml_child_text(tag, "value");
        (void)str_cut(&rest, ' ');
        if (str_is(xml_child_text(tag, "key"), TAG_LEASE_UNTIL) && !str_to_i64(rest, &until)) {
            until = ACCOUNT_NO_TIME;
        }
    }
    return until;
}

/* The list in a reply; NULL with an error if the reply is not of the expected type. */
static const struct xml_element *list_in(const struct xml_element *root, const char *reply,
                                         const char *list, struct err *err)
{
    const struct xml_element *found = str_is(root->name, reply) ? xml_child(root, list) : NULL;
    if (!found) {
        err_set(err, ERR_PROTOCOL, "unexpected response");
    }
    return found;
}

struct thing_form {
    enum account_thing_kind kind;
    const char *reply, *list, *id;
};

static bool read_things(struct account_basket *basket, struct str region,
                        const struct xml_element *root, const struct thing_form *form,
                        struct err *err)
{
    const struct xml_element *list = list_in(root, form->reply, form->list, err);
    if (!list) {
        return false;
    }
    for (const struct xml_element *item = list->first; item; item = item->next) {
        struct account_thing thing = {owner_of(basket, item, region), form->kind,
                                      account_read_save(basket, xml_child_text(item, form->id)),
                                      time_of(item, "createTime"), held_until(item)};
        if (thing.id.len == 0) {
            return err_set(err, ERR_PROTOCOL, "a %s without %s", account_thing_name(form->kind),
                           form->id);
        }
        if (thing.owner.name.len + thing.owner.uid.len == 0) {
            continue;
        }
        account_add_thing(basket, &thing);
    }
    return true;
}

bool account_read_groups(struct account_basket *basket, struct str region,
                         const struct xml_element *root, struct err *err)
{
    static const struct thing_form form = {THING_GROUP, "DescribeSecurityGroupsResponse",
                                           "securityGroupInfo", "groupId"};
    return read_things(basket, region, root, &form, err);
}

bool account_read_keys(struct account_basket *basket, struct str region,
                       const struct xml_element *root, struct err *err)
{
    static const struct thing_form form = {THING_KEY, "DescribeKeyPairsResponse", "keySet",
                                           "keyName"};
    return read_things(basket, region, root, &form, err);
}

bool account_read_templates(struct account_basket *basket, struct str region,
                            const struct xml_element *root, struct err *err)
{
    static const struct thing_form form = {THING_TEMPLATE, "DescribeLaunchTemplatesResponse",
                                           "launchTemplates", "launchTemplateId"};
    return read_things(basket, region, root, &form, err);
}

/* ---- volumes ---- */

/* True if the value is at most `most` or missing. */
static bool is_at_most(const struct xml_element *item, const char *name, int64_t most)
{
    int64_t value;
    struct str text = xml_child_text(item, name);
    return text.len == 0 || (str_to_i64(text, &value) && value <= most);
}

static bool is_by_size(const struct xml_element *item, struct str kind)
{
    if (str_is(kind, "gp3")) {
        return is_at_most(item, "iops", GP3_IOPS) && is_at_most(item, "throughput", GP3_THROUGHPUT);
    }
    return str_is(kind, "gp2") || str_is(kind, "st1") || str_is(kind, "sc1");
}

bool account_read_volumes(struct account_basket *basket, struct str region,
                          const struct xml_element *root, struct err *err)
{
    const struct xml_element *list = list_in(root, "DescribeVolumesResponse", "volumeSet", err);
    if (!list) {
        return false;
    }
    for (const struct xml_element *item = list->first; item; item = item->next) {
        const struct xml_element *attached = xml_child(item, "attachmentSet");
        struct account_volume volume = {
            .owner = owner_of(basket, item, region),
            .id = account_read_save(basket, xml_child_text(item, "volumeId")),
            .machine = account_read_save(
                basket, xml_child_text(attached ? attached->first : NULL, "instanceId")),
            .kind = account_read_save(basket, xml_child_text(item, "volumeType")),
            .made_at = time_of(item, "createTime"),
        };
        volume.is_by_size = is_by_size(item, volume.kind);
        if (volume.id.len == 0 || !str_to_i64(xml_child_text(item, "size"), &volume.gb) ||
            volume.gb < 0 || volume.gb > GB_MAX) {
            return err_set(err, ERR_PROTOCOL, "unexpected response: a volume has no id or size");
        }
        account_add_volume(basket, &volume);
    }
    return true;
}

/* ---- IAM ---- */

/* <ActionResponse><ActionResult><List><member>... */
static bool read_members(struct account_basket *basket, const struct xml_element *root,
                         const struct thing_form *form, struct err *err)
{
    const struct xml_element *list = str_is(root->name, form->reply)
                                         ? xml_child(root->first, form->list)
                                         : NULL;
    if (!list) {
        return err_set(err, ERR_PROTOCOL, "unexpected response");
    }
    for (const struct xml_element *item = list->first; item; item = item->next) {
        struct account_thing thing = {{STR(""), STR(""), STR("")},
                                      form->kind,
                                      account_read_save(basket, xml_child_text(item, form->id)),
                                      time_of(item, "CreateDate"),
                                      ACCOUNT_NO_TIME};
        if (thing.id.len == 0) {
            return err_set(err, ERR_PROTOCOL, "unexpected response: a %s has no name",
                           account_thing_name(form->kind));
        }
        account_add_thing(basket, &thing);
    }
    return true;
}

bool account_read_roles(struct account_basket *basket, const struct xml_element *root,
                        struct err *err)
{
    static const struct thing_form form = {THING_ROLE, "ListRolesResponse", "Roles", "RoleName"};
    return read_members(basket, root, &form, err);
}

bool account_read_profiles(struct account_basket *basket, const struct xml_element *root,
                           struct err *err)
{
    static const struct thing_form form = {THING_PROFILE, "ListInstanceProfilesResponse",
                                           "InstanceProfiles", "InstanceProfileName"};
    return read_members(basket, root, &form, err);
}

struct account_owner account_read_tags(const struct account_basket *basket,
                                       const struct xml_element *root)
{
    struct account_owner owner = {STR(""), STR(""), STR("")};
    const struct xml_element *tags = xml_child(root->first, "Tags");
    for (const struct xml_element *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        struct str key = xml_child_text(tag, "Key");
        if (str_is(key, ACCOUNT_TAG_NAME)) {
            owner.name = account_read_save(basket, xml_child_text(tag, "Value"));
        } else if (str_is(key, TAG_CLUSTER_UID)) {
            owner.uid = account_read_save(basket, xml_child_text(tag, "Value"));
        }
    }
    return owner;
}

/* ---- regions ---- */

static int account_read_compare_names(const void *left, const void *right)
{
    return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

bool account_read_regions(const struct xml_element *root, struct arena *arena,
                          struct str **ret_regions, size_t *ret_count, struct err *err)
{
    struct str *regions = ARENA_ARRAY(arena, REGIONS_MAX, struct str);
    size_t count = 0;
    const struct xml_element *list = list_in(root, "DescribeRegionsResponse", "regionInfo", err);
    if (!list) {
        return false;
    }
    for (const struct xml_element *item = list->first; item; item = item->next) {
        struct str name = xml_child_text(item, "regionName");
        if (str_is(xml_child_text(item, "optInStatus"), "not-opted-in")) {
            continue;
        }
        if (name.len == 0 || count == REGIONS_MAX) {
            return err_set(err, ERR_PROTOCOL,
                           "unexpected response: a region has no name, or there are too many "
                           "regions");
        }
        regions[count++] = arena_str(arena, name);
    }
    if (count == 0) {
        return err_set(err, ERR_PROTOCOL, "unexpected response: no region");
    }
    qsort(regions, count, sizeof(struct str), account_read_compare_names);
    *ret_regions = regions;
    *ret_count = count;
    return true;
}
