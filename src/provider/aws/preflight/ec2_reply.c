/* ec2_reply.c: reads each listing by iterating over the items of its pages. */
#include "provider/aws/preflight/ec2_reply.h"

#include "base/buf.h"

#include <jansson.h>

/* ---- iterating ---- */

/* All items of all pages, in order. */
struct ec2_reply_walk {
    struct ec2_pages pages;
    const char *set; /* name of the element with the items */
    size_t page;
    const struct xml_element *next;
};

/* Counts the items, so that one array can be allocated for all of them. */
static bool walk_start(struct ec2_reply_walk *walk, struct ec2_pages pages, const char *set,
                       size_t *ret_count, struct err *err)
{
    *walk = (struct ec2_reply_walk){.pages = pages, .set = set};
    *ret_count = 0;
    for (size_t i = 0; i < pages.count; i++) {
        const struct xml_element *items = xml_child(pages.roots[i], set);
        if (!items) {
            return err_set(err, ERR_PROTOCOL, "unexpected response: no <%s>", set);
        }
        for (const struct xml_element *item = items->first; item; item = item->next) {
            *ret_count += 1;
        }
    }
    return true;
}

/* NULL after the last item. */
static const struct xml_element *walk_next(struct ec2_reply_walk *walk)
{
    while (!walk->next && walk->page < walk->pages.count) {
        const struct xml_element *items = xml_child(walk->pages.roots[walk->page], walk->set);
        walk->next = items ? items->first : NULL;
        walk->page++;
    }
    const struct xml_element *item = walk->next;
    walk->next = item ? item->next : NULL;
    return item;
}

/* ---- fields ---- */

/* Copies text, because the trees are freed after the callback. */
static struct str ec2_reply_save(const struct xml_element *item, const char *name,
                                 struct arena *arena)
{
    return arena_str(arena, xml_child_text(item, name));
}

/* Fails if a required name is missing. */
static bool ec2_reply_need(const struct xml_element *item, const char *name, struct arena *arena,
                           struct str *ret_text, struct err *err)
{
    *ret_text = ec2_reply_save(item, name, arena);
    return ret_text->len > 0 ||
           err_set(err, ERR_PROTOCOL, "unexpected response: an element has no %s", name);
}

static bool is_true(const struct xml_element *item, const char *name)
{
    return str_is(xml_child_text(item, name), "true");
}

static int64_t number_or(const struct xml_element *item, const char *name, int64_t otherwise)
{
    int64_t number;
    return str_to_i64(xml_child_text(item, name), &number) ? number : otherwise;
}

static bool has_item(const struct xml_element *list, const char *text)
{
    for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
        if (str_is(item->text, text)) {
            return true;
        }
    }
    return false;
}

/* ---- networks ---- */

bool ec2_subnets_read(struct ec2_pages pages, struct arena *arena, struct ec2_subnets *ret_subnets,
                      struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "subnetSet", &count, err)) {
        return false;
    }
    struct ec2_subnets got = {ARENA_ARRAY(arena, count, struct ec2_subnet), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_subnet *subnet = &got.items[got.count++];
        if (!ec2_reply_need(item, "subnetId", arena, &subnet->id, err) ||
            !ec2_reply_need(item, "vpcId", arena, &subnet->vpc, err) ||
            !ec2_reply_need(item, "availabilityZone", arena, &subnet->zone, err)) {
            return false;
        }
        subnet->arn = ec2_reply_save(item, "subnetArn", arena);
        subnet->state = ec2_reply_save(item, "state", arena);
        subnet->is_default = str_is(xml_child_text(item, "defaultForAz"), "true");
        subnet->free_addresses = number_or(item, "availableIpAddressCount", INT64_MAX);
        subnet->maps_public = is_true(item, "mapPublicIpOnLaunch");
    }
    *ret_subnets = got;
    return true;
}

bool ec2_groups_read(struct ec2_pages pages, struct arena *arena, struct ec2_groups *ret_groups,
                     struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "securityGroupInfo", &count, err)) {
        return false;
    }
    struct ec2_groups got = {ARENA_ARRAY(arena, count, struct ec2_group), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_group *group = &got.items[got.count++];
        if (!ec2_reply_need(item, "groupId", arena, &group->id, err)) {
            return false;
        }
        group->name = ec2_reply_save(item, "groupName", arena);
        group->vpc = ec2_reply_save(item, "vpcId", arena);
    }
    *ret_groups = got;
    return true;
}

bool ec2_vpcs_read(struct ec2_pages pages, struct arena *arena, struct ec2_vpcs *ret_vpcs,
                   struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "vpcSet", &count, err)) {
        return false;
    }
    struct ec2_vpcs got = {ARENA_ARRAY(arena, count, struct ec2_vpc), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_vpc *vpc = &got.items[got.count++];
        if (!ec2_reply_need(item, "vpcId", arena, &vpc->id, err)) {
            return false;
        }
        vpc->cidr = ec2_reply_save(item, "cidrBlock", arena);
        vpc->is_default = is_true(item, "isDefault");
    }
    *ret_vpcs = got;
    return true;
}

/* ---- machines ---- */

/* The volumes of an image: its root, and others. */
static void read_image_disks(const struct xml_element *item, struct arena *arena,
                             struct ec2_image *image)
{
    enum { TEXT_BYTES_MAX = 1024 };
    const struct xml_element *devices = xml_child(item, "blockDeviceMapping");
    AUTO_BUF struct buf others;
    buf_init(&others, TEXT_BYTES_MAX);
    for (const struct xml_element *device = devices ? devices->first : NULL; device;
         device = device->next) {
        const struct xml_element *ebs = xml_child(device, "ebs");
        struct str name = xml_child_text(device, "deviceName");
        int64_t gib = number_or(ebs, "volumeSize", 0);
        if (image->root_device.len > 0 && str_eq(name, image->root_device)) {
            image->root_gib = gib;
            image->root_kind = arena_str(arena, xml_child_text(ebs, "volumeType"));
        } else if (ebs) {
            struct str kind = xml_child_text(ebs, "volumeType");
            buf_addf(&others, "%.*s %lld ", STR_ARG(kind), (long long)gib);
        }
    }
    image->disks = arena_str(arena, buf_str(&others));
}

bool ec2_images_read(struct ec2_pages pages, struct arena *arena, struct ec2_images *ret_images,
                     struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "imagesSet", &count, err)) {
        return false;
    }
    struct ec2_images got = {ARENA_ARRAY(arena, count, struct ec2_image), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_image *image = &got.items[got.count++];
        if (!ec2_reply_need(item, "imageId", arena, &image->id, err)) {
            return false;
        }
        image->name = ec2_reply_save(item, "name", arena);
        image->state = ec2_reply_save(item, "imageState", arena);
        image->arch = ec2_reply_save(item, "architecture", arena);
        image->root_device = ec2_reply_save(item, "rootDeviceName", arena);
        image->created_at = ec2_reply_save(item, "creationDate", arena);
        read_image_disks(item, arena, image);
        image->is_windows = str_is(xml_child_text(item, "platform"), "windows");
    }
    *ret_images = got;
    return true;
}

static void read_archs(const struct xml_element *item, struct arena *arena, struct ec2_type *type)
{
    const struct xml_element *list = xml_child(xml_child(item, "processorInfo"),
                                               "supportedArchitectures");
    size_t count = 0;
    for (const struct xml_element *arch = list ? list->first : NULL; arch && count < EC2_ARCH_MAX;
         arch = arch->next) {
        if (arch->text.len > 0) {
            type->archs[count++] = arena_str(arena, arch->text);
        }
    }
}

static int64_t count_gpus(const struct xml_element *item)
{
    const struct xml_element *gpus = xml_child(xml_child(item, "gpuInfo"), "gpus");
    int64_t sum = 0;
    for (const struct xml_element *gpu = gpus ? gpus->first : NULL; gpu; gpu = gpu->next) {
        int64_t count = number_or(gpu, "count", 0);
        sum += count > 0 && count < 1000 && sum < 1000 ? count : 0;
    }
    return sum;
}

bool ec2_types_read(struct ec2_pages pages, struct arena *arena, struct ec2_types *ret_types,
                    struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "instanceTypeSet", &count, err)) {
        return false;
    }
    struct ec2_types got = {ARENA_ARRAY(arena, count, struct ec2_type), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_type *type = &got.items[got.count++];
        if (!ec2_reply_need(item, "instanceType", arena, &type->name, err)) {
            return false;
        }
        read_archs(item, arena, type);
        type->vcpus = number_or(xml_child(item, "vCpuInfo"), "defaultVCpus", 0);
        type->memory_mib = number_or(xml_child(item, "memoryInfo"), "sizeInMiB", 0);
        type->gpus = count_gpus(item);
        type->has_spot = has_item(xml_child(item, "supportedUsageClasses"), "spot");
    }
    *ret_types = got;
    return true;
}

bool ec2_offerings_read(struct ec2_pages pages, struct arena *arena,
                        struct ec2_offerings *ret_offerings, struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "instanceTypeOfferingSet", &count, err)) {
        return false;
    }
    struct ec2_offerings got = {ARENA_ARRAY(arena, count, struct ec2_offering), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_offering *offering = &got.items[got.count++];
        if (!ec2_reply_need(item, "instanceType", arena, &offering->type, err) ||
            !ec2_reply_need(item, "location", arena, &offering->location, err)) {
            return false;
        }
    }
    *ret_offerings = got;
    return true;
}

/* ---- access ---- */

bool ec2_keys_read(struct ec2_pages pages, struct arena *arena, struct ec2_keys *ret_keys,
                   struct err *err)
{
    struct ec2_reply_walk walk;
    size_t count;
    if (!walk_start(&walk, pages, "keySet", &count, err)) {
        return false;
    }
    struct ec2_keys got = {ARENA_ARRAY(arena, count, struct ec2_key), 0};
    for (const struct xml_element *item; (item = walk_next(&walk)) != NULL;) {
        struct ec2_key *key = &got.items[got.count++];
        if (!ec2_reply_need(item, "keyName", arena, &key->name, err)) {
            return false;
        }
        key->id = ec2_reply_save(item, "keyPairId", arena);
        key->fingerprint = ec2_reply_save(item, "keyFingerprint", arena);
        key->public_key = str_trim(ec2_reply_save(item, "publicKey", arena));
    }
    *ret_keys = got;
    return true;
}

bool iam_profile_read(const struct xml_element *root, struct arena *arena,
                      struct iam_profile *ret_profile, struct err *err)
{
    const struct xml_element *result = xml_child(root, "GetInstanceProfileResult");
    const struct xml_element *item = xml_child(result, "InstanceProfile");
    struct iam_profile got;
    if (!item) {
        return err_set(err, ERR_PROTOCOL, "unexpected response: no InstanceProfile");
    }
    if (!ec2_reply_need(item, "InstanceProfileName", arena, &got.name, err) ||
        !ec2_reply_need(item, "Arn", arena, &got.arn, err)) {
        return false;
    }
    got.role = ec2_reply_save(xml_child(xml_child(item, "Roles"), "member"), "RoleName", arena);
    *ret_profile = got;
    return true;
}

static bool ec2_reply_is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return text.len > 0;
}

static bool read_value(const json_t *json, struct arena *arena, struct str *ret_value,
                       struct err *err)
{
    const json_t *value = json_object_get(json_object_get(json, "Parameter"), "Value");
    if (!json_is_string(value)) {
        return err_set(err, ERR_PROTOCOL, "unexpected response: no Value");
    }
    struct str text = {json_string_value(value), json_string_length(value)};
    if (!ec2_reply_is_plain(text)) {
        return err_set(err, ERR_PROTOCOL,
                       "unexpected response: Value is empty or has invalid characters");
    }
    *ret_value = arena_str(arena, text);
    return true;
}

static bool load_json(struct str json, json_t **ret_root, struct err *err)
{
    json_error_t where;
    if (json.len > SSM_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "more than %d bytes", SSM_BYTES_MAX);
    }
    json_t *root = json_loadb(json.ptr ? json.ptr : "", json.len, JSON_REJECT_DUPLICATES, &where);
    if (!root) {
        return err_set(err, ERR_PROTOCOL, "invalid JSON at line %d, column %d", where.line,
                       where.column);
    }
    *ret_root = root;
    return true;
}

bool quota_limit_read(struct str json, int64_t *ret_limit, struct err *err)
{
    enum { LIMIT_MAX = 1000000000 };
    json_t *root;
    if (!load_json(json, &root, err)) {
        return false;
    }
    const json_t *value = json_object_get(json_object_get(root, "Quota"), "Value");
    double limit = json_number_value(value);
    bool ok = json_is_number(value) && limit >= 0;
    *ret_limit = !ok ? 0 : limit < LIMIT_MAX ? (int64_t)limit : LIMIT_MAX;
    json_decref(root);
    return ok || err_set(err, ERR_PROTOCOL, "unexpected response: the quota has no Value");
}

bool ssm_parameter_read(struct str json, struct arena *arena, struct str *ret_value,
                        struct err *err)
{
    json_t *root;
    if (!load_json(json, &root, err)) {
        return false;
    }
    bool ok = read_value(root, arena, ret_value, err);
    json_decref(root);
    return ok;
}
