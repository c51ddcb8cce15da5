/* preflight_request.c: reads the file's keys with Ray's meaning. */
#include "provider/aws/preflight/preflight_request.h"

#include "base/attr.h"
#include "provider/aws/preflight/image.h"

/* ---- trees ---- */

static bool preflight_request_is_set(const struct param *map, const char *name)
{
    const struct param *found = param_get(map, PARAM_BOOL, name);
    return found && found->boolean;
}

static void preflight_request_add(struct requested_texts *texts, struct str text,
                                  struct arena *arena)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (str_eq(texts->items[i], text)) {
            return;
        }
    }
    if (text.len > 0) {
        ARENA_PUSH(arena, texts->items, texts->count, texts->capacity) = text;
    }
}

static void preflight_request_add_all(struct requested_texts *texts,
                                      const struct requested_texts *more, struct arena *arena)
{
    for (size_t i = 0; i < more->count; i++) {
        preflight_request_add(texts, more->items[i], arena);
    }
}

static void add_list(struct requested_texts *texts, const struct param *list, struct arena *arena)
{
    for (const struct param *item = list ? list->first : NULL; item; item = item->next) {
        preflight_request_add(texts, item->kind == PARAM_TEXT ? item->text : STR(""), arena);
    }
}

/* ---- a node type ---- */

static void read_interfaces(const struct param *list, struct arena *arena,
                            struct requested_type *type)
{
    type->subnets_key = type->groups_key = "NetworkInterfaces";
    type->asks_public = preflight_request_is_set(list->first, "AssociatePublicIpAddress");
    for (const struct param *item = list->first; item; item = item->next) {
        if (item->kind == PARAM_MAP) {
            preflight_request_add(&type->subnets, param_text(item, "SubnetId"), arena);
            add_list(&type->groups, param_get(item, PARAM_LIST, "Groups"), arena);
        }
    }
}

static void read_network(const struct param *config, struct arena *arena,
                         struct requested_type *type)
{
    const struct param *interfaces = param_get(config, PARAM_LIST, "NetworkInterfaces");
    type->subnets_key = "SubnetIds";
    type->groups_key = "SecurityGroupIds";
    if (interfaces && interfaces->first && interfaces->first->kind == PARAM_MAP) {
        read_interfaces(interfaces, arena, type);
        return;
    }
    add_list(&type->subnets, param_get(config, PARAM_LIST, "SubnetIds"), arena);
    add_list(&type->groups, param_get(config, PARAM_LIST, "SecurityGroupIds"), arena);
    if (type->subnets.count == 0) {
        type->subnets_key = "SubnetId";
        preflight_request_add(&type->subnets, param_text(config, "SubnetId"), arena);
    }
}

static void read_disks(const struct param *config, struct arena *arena, struct requested_type *type)
{
    const struct param *list = param_get(config, PARAM_LIST, "BlockDeviceMappings");
    const struct param *first = list ? list->first : NULL;
    size_t count = 0;
    for (const struct param *item = first; item; item = item->next) {
        count++;
    }
    struct requested_disk *disks = ARENA_ARRAY(arena, count, struct requested_disk);
    for (const struct param *item = first; item; item = item->next) {
        const struct param *map = item->kind == PARAM_MAP ? item : NULL;
        const struct param *ebs = param_get(map, PARAM_MAP, "Ebs");
        const struct param *size = param_get(ebs, PARAM_NUMBER, "VolumeSize");
        disks[type->disk_count++] = (struct requested_disk){
            .device = param_text(map, "DeviceName"),
            .gib = size ? size->number : 0,
            .kind = param_text(ebs, "VolumeType"),
            .is_extra = param_get(ebs, PARAM_NUMBER, "Iops") ||
                        param_get(ebs, PARAM_NUMBER, "Throughput"),
            .is_free = !ebs,
            .is_encrypted = preflight_request_is_set(ebs, "Encrypted"),
            .key = param_text(ebs, "KmsKeyId"),
        };
    }
    type->disks = disks;
}

/* The file's keys, plus those of the template that the file does not have. */
static const struct param *merged(const struct param *own, const struct param *template,
                                  struct arena *arena)
{
    const struct param *sources[] = {own, template};
    struct param *map = param_new_map(arena);
    for (size_t i = 0; template && i < ARRAY_LEN(sources); i++) {
        for (const struct param *child = sources[i]->first; child; child = child->next) {
            if (!param_find(map, child->name.ptr)) {
                struct param *copy = param_add_map(map, child->name.ptr, arena);
                struct param *next = copy->next;
                *copy = *child;
                copy->next = next;
            }
        }
    }
    return template ? map : own;
}

static void preflight_request_read_template(const struct param *own, const struct param *data,
                                            struct requested_type *type)
{
    const struct param *named = param_get(own, PARAM_MAP, "LaunchTemplate");
    struct str name = param_text(named, "LaunchTemplateName");
    type->own = own;
    type->has_template = named != NULL;
    type->is_blind = named && !data;
    type->template = name.len > 0 ? name : param_text(named, "LaunchTemplateId");
    type->has_template_interfaces = data && param_get(data, PARAM_LIST, "NetworkInterfaces") &&
                                    !param_find(own, "NetworkInterfaces");
}

static void read_type(const struct provider_type *source, const struct param *template,
                      struct arena *arena, struct requested_type *type)
{
    const struct param *config = merged(source->node_config, template, arena);
    const struct param *profile = param_get(config, PARAM_MAP, "IamInstanceProfile");
    const struct param *market = param_get(config, PARAM_MAP, "InstanceMarketOptions");
    const struct param *spot = param_get(market, PARAM_MAP, "SpotOptions");
    struct str arn = param_text(profile, "Arn");
    struct str image = param_text(config, "ImageId");
    *type = (struct requested_type){
        .name = source->name,
        .path = arena_printf(arena, "available_node_types.%.*s.node_config", STR_ARG(source->name)),
        .machine = param_text(config, "InstanceType"),
        /* One that `up` has resolved is not looked up again. */
        .image = image.len == 0 || (image_of_parameter(image).len > 0 && source->image.len > 0)
                     ? source->image
                     : image,
        .key = param_text(config, "KeyName"),
        .profile = arn.len > 0 ? arn : param_text(profile, "Name"),
        .is_head = source->is_head,
        .least = source->least,
        .most = source->most,
        .is_spot = str_is(param_text(market, "MarketType"), "spot"),
        .is_persistent = str_is(param_text(spot, "SpotInstanceType"), "persistent"),
    };
    preflight_request_read_template(source->node_config, template, type);
    read_network(config, arena, type);
    read_disks(config, arena, type);
    type->wants_disk = image.len == 0 && type->disk_count == 0 && !type->is_blind;
}

/* ---- the request ---- */

static void read_zones(struct str list, struct arena *arena, struct requested_texts *zones)
{
    while (list.len > 0) {
        preflight_request_add(zones, str_trim(str_cut(&list, ',')), arena);
    }
}

static void preflight_request_gather(struct preflight_request *request, struct arena *arena)
{
    for (size_t i = 0; i < request->type_count; i++) {
        const struct requested_type *type = &request->types[i];
        preflight_request_add(&request->machines, type->machine, arena);
        preflight_request_add(&request->images, image_is_named(type->image) ? type->image : STR(""),
                              arena);
        preflight_request_add_all(&request->groups, &type->groups, arena);
        preflight_request_add(&request->profiles, preflight_profile_name(type->profile), arena);
    }
}

void preflight_request_read(const struct provider_cluster *cluster,
                            const struct param *const *templates, struct arena *arena,
                            struct preflight_request *ret_request)
{
    const struct param *provider = cluster->provider;
    const struct param *keys = param_get(provider, PARAM_MAP, "aws_credentials");
    *ret_request = (struct preflight_request){
        .region = param_text(provider, "region"),
        .uses_private = preflight_request_is_set(provider, "use_internal_ips"),
        .has_keys = param_text(keys, "aws_access_key_id").len > 0,
        .has_head_policies = param_get(provider, PARAM_LIST, "head_policies") != NULL,
        .key_pair = param_text(param_get(provider, PARAM_MAP, "key_pair"), "key_name"),
        .private_key = param_text(cluster->auth, "ssh_private_key"),
        .types = ARENA_ARRAY(arena, cluster->type_count, struct requested_type),
        .type_count = cluster->type_count,
    };
    read_zones(param_text(provider, "availability_zone"), arena, &ret_request->zones);
    for (size_t i = 0; i < cluster->type_count; i++) {
        read_type(&cluster->types[i], templates ? templates[i] : NULL, arena,
                  &ret_request->types[i]);
    }
    preflight_request_gather(ret_request, arena);
}

struct str preflight_profile_name(struct str profile)
{
    struct str name = profile;
    if (!str_starts(profile, "arn:")) {
        return profile;
    }
    while (str_find_char(name, '/') != SIZE_MAX) {
        str_cut(&name, '/');
    }
    return name;
}
