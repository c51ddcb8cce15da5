/* ec2_template.c: converts a launch template's data to parameters. */
#include "base/attr.h"
#include "base/encode.h"
#include "provider/aws/preflight/ec2_reply.h"

/* Copies a text of the reply under boto3's name, if it exists. */
static void ec2_template_copy_text(struct param *to, const char *name,
                                   const struct xml_element *from, const char *element,
                                   struct arena *arena)
{
    struct str text = xml_child_text(from, element);
    if (text.len > 0) {
        param_add_text(to, name, arena_str(arena, text), arena);
    }
}

static void copy_list(struct param *to, const char *name, const struct xml_element *from,
                      const char *element, struct arena *arena)
{
    const struct xml_element *items = xml_child(from, element);
    if (!items || !items->first) {
        return;
    }
    struct param *list = param_add_list(to, name, arena);
    for (const struct xml_element *item = items->first; item; item = item->next) {
        param_add_text(list, "", arena_str(arena, item->text), arena);
    }
}

static void copy_interfaces(struct param *to, const struct xml_element *data, struct arena *arena)
{
    const struct xml_element *items = xml_child(data, "networkInterfaceSet");
    if (!items || !items->first) {
        return;
    }
    struct param *list = param_add_list(to, "NetworkInterfaces", arena);
    for (const struct xml_element *item = items->first; item; item = item->next) {
        struct param *interface = param_add_map(list, "", arena);
        ec2_template_copy_text(interface, "SubnetId", item, "subnetId", arena);
        copy_list(interface, "Groups", item, "groupSet", arena);
        if (str_is(xml_child_text(item, "associatePublicIpAddress"), "true")) {
            param_add_bool(interface, "AssociatePublicIpAddress", true, arena);
        }
    }
}

/* What decides the price of a volume, and which key it needs. */
static void copy_disk_settings(struct param *map, const struct xml_element *ebs,
                               struct arena *arena)
{
    int64_t number;
    ec2_template_copy_text(map, "VolumeType", ebs, "volumeType", arena);
    ec2_template_copy_text(map, "KmsKeyId", ebs, "kmsKeyId", arena);
    if (str_is(xml_child_text(ebs, "encrypted"), "true")) {
        param_add_bool(map, "Encrypted", true, arena);
    }
    if (str_to_i64(xml_child_text(ebs, "iops"), &number)) {
        param_add_number(map, "Iops", number, arena);
    }
    if (str_to_i64(xml_child_text(ebs, "throughput"), &number)) {
        param_add_number(map, "Throughput", number, arena);
    }
}

static void copy_disks(struct param *to, const struct xml_element *data, struct arena *arena)
{
    const struct xml_element *items = xml_child(data, "blockDeviceMappingSet");
    if (!items || !items->first) {
        return;
    }
    struct param *list = param_add_list(to, "BlockDeviceMappings", arena);
    for (const struct xml_element *item = items->first; item; item = item->next) {
        struct param *disk = param_add_map(list, "", arena);
        int64_t size;
        ec2_template_copy_text(disk, "DeviceName", item, "deviceName", arena);
        const struct xml_element *ebs = xml_child(item, "ebs");
        struct param *map = ebs ? param_add_map(disk, "Ebs", arena) : NULL;
        if (map && str_to_i64(xml_child_text(ebs, "volumeSize"), &size)) {
            param_add_number(map, "VolumeSize", size, arena);
        }
        if (map) {
            copy_disk_settings(map, ebs, arena);
        }
    }
}

static void copy_metadata(struct param *to, const struct xml_element *data, struct arena *arena)
{
    const struct xml_element *options = xml_child(data, "metadataOptions");
    int64_t hops;
    if (!options) {
        return;
    }
    struct param *map = param_add_map(to, "MetadataOptions", arena);
    ec2_template_copy_text(map, "HttpTokens", options, "httpTokens", arena);
    ec2_template_copy_text(map, "HttpEndpoint", options, "httpEndpoint", arena);
    ec2_template_copy_text(map, "HttpProtocolIpv6", options, "httpProtocolIpv6", arena);
    ec2_template_copy_text(map, "InstanceMetadataTags", options, "instanceMetadataTags", arena);
    if (str_to_i64(xml_child_text(options, "httpPutResponseHopLimit"), &hops)) {
        param_add_number(map, "HttpPutResponseHopLimit", hops, arena);
    }
}

/* As in a file: not encoded. */
static void copy_user_data(struct param *to, const struct xml_element *data, struct arena *arena)
{
    struct str text = xml_child_text(data, "userData");
    AUTO_BUF struct buf plain;
    buf_init(&plain, text.len + 1);
    decode_base64(&plain, text);
    if (plain.len > 0) {
        param_add_text(to, "UserData", arena_str(arena, buf_str(&plain)), arena);
    }
}

static void copy_maps(struct param *to, const struct xml_element *data, struct arena *arena)
{
    const struct xml_element *profile = xml_child(data, "iamInstanceProfile");
    const struct xml_element *market = xml_child(data, "instanceMarketOptions");
    if (profile) {
        struct param *map = param_add_map(to, "IamInstanceProfile", arena);
        ec2_template_copy_text(map, "Arn", profile, "arn", arena);
        ec2_template_copy_text(map, "Name", profile, "name", arena);
    }
    if (market) {
        struct param *map = param_add_map(to, "InstanceMarketOptions", arena);
        ec2_template_copy_text(map, "MarketType", market, "marketType", arena);
        ec2_template_copy_text(param_add_map(map, "SpotOptions", arena), "SpotInstanceType",
                               xml_child(market, "spotOptions"), "spotInstanceType", arena);
    }
}

bool ec2_template_read(struct ec2_pages pages, struct arena *arena, struct param **ret_data,
                       struct err *err)
{
    static const struct {
        const char *name, *element;
    } texts[] = {{"InstanceType", "instanceType"}, {"ImageId", "imageId"}, {"KeyName", "keyName"}};
    const struct xml_element *set = pages.count > 0
                                        ? xml_child(pages.roots[0], "launchTemplateVersionSet")
                                        : NULL;
    const struct xml_element *data = xml_child(set ? set->first : NULL, "launchTemplateData");
    if (!data || set->first != set->last) {
        return err_set(err, ERR_PROTOCOL,
                       "unexpected response: not exactly one launchTemplateData");
    }
    struct param *map = param_new_map(arena);
    ec2_template_copy_text(map, "LaunchTemplateId", set->first, "launchTemplateId", arena);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        ec2_template_copy_text(map, texts[i].name, data, texts[i].element, arena);
    }
    copy_list(map, "SecurityGroupIds", data, "securityGroupIdSet", arena);
    copy_interfaces(map, data, arena);
    copy_disks(map, data, arena);
    copy_maps(map, data, arena);
    copy_metadata(map, data, arena);
    copy_user_data(map, data, arena);
    *ret_data = map;
    return true;
}
