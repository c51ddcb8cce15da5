/* launch_encode.c: merges our parameters into a type's node_config. */
#include "provider/aws/machines/launch_encode.h"

#include "base/buf.h"
#include "provider/aws/wire/query.h"
#include "provider/launch_token.h"

enum { TAGS_MAX = 50, TAG_KEY_MAX = 128, TAG_VALUE_MAX = 256 };

/* ---- trees ---- */

/* Shares its children with the file's tree, which is never modified. */
static struct param *add_shared(struct param *parent, const struct param *from, struct arena *arena)
{
    struct param *copy = param_add_map(parent, "", arena);
    *copy = *from;
    copy->next = NULL;
    return copy;
}

static const struct param *items_of(const struct param *map, const char *name)
{
    const struct param *list = param_get(map, PARAM_LIST, name);
    return list ? list->first : NULL;
}

/* ---- parameters copied from the file ---- */

/* Keys that are written below or that RunInstances does not accept. */
static bool launch_encode_is_ours(struct str name)
{
    static const char *const ours[] = {
        "ClientToken",
        "DryRun",
        "IamInstanceProfile",
        "ImageId",
        "InstanceInitiatedShutdownBehavior",
        "InstanceMarketOptions",
        "InstanceType",
        "KeyName",
        "MaxCount",
        "MetadataOptions",
        "MinCount",
        "NetworkInterfaces",
        "SecurityGroupIds",
        "SubnetId",
        "SubnetIds",
        "TagSpecifications",
        "UserData",
    };
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        if (str_is(name, ours[i])) {
            return true;
        }
    }
    return false;
}

static void pass_through(struct param *call, const struct param *config, struct arena *arena)
{
    for (const struct param *child = config->first; child; child = child->next) {
        if (!launch_encode_is_ours(child->name)) {
            add_shared(call, child, arena);
        }
    }
}

/* ---- network ---- */

static bool find_subnet(const struct launch_draft *draft, struct str *ret_id, struct err *err)
{
    const struct aws_type_facts *facts = draft->facts;
    for (size_t i = 0; i < facts->subnet_count; i++) {
        if (draft->request->zone.len == 0 || str_eq(facts->subnets[i].zone, draft->request->zone)) {
            *ret_id = facts->subnets[i].id;
            return true;
        }
    }
    return err_set(err, ERR_CONFIG, "no usable subnet for %.*s in zone %.*s",
                   STR_ARG(facts->machine), STR_ARG(draft->request->zone));
}

static void add_groups(struct param *parent, const char *name, const struct launch_draft *draft,
                       struct arena *arena)
{
    const struct aws_type_facts *facts = draft->facts;
    if (facts->group_count == 0 && !facts->makes_group) {
        return;
    }
    struct param *list = param_add_list(parent, name, arena);
    for (size_t i = 0; i < facts->group_count; i++) {
        param_add_text(list, "", facts->groups[i], arena);
    }
    if (facts->makes_group) {
        param_add_text(list, "", draft->own_group, arena);
    }
}

/* Interfaces keep the settings from the file; a missing subnet or group is added. */
static void add_interfaces(struct param *call, const struct param *first, struct str subnet,
                           const struct launch_draft *draft, struct arena *arena)
{
    struct param *list = param_add_list(call, "NetworkInterfaces", arena);
    for (const struct param *item = first; item; item = item->next) {
        struct param *interface = param_add_map(list, "", arena);
        for (const struct param *child = item->first; child; child = child->next) {
            add_shared(interface, child, arena);
        }
        bool is_there = param_find(item, "NetworkInterfaceId") != NULL;
        if (!is_there && !param_find(item, "SubnetId")) {
            param_add_text(interface, "SubnetId", subnet, arena);
        }
        if (!is_there && !param_find(item, "Groups")) {
            add_groups(interface, "Groups", draft, arena);
        }
    }
}

static bool launch_encode_add_place(struct param *call, const struct launch_draft *draft,
                                    struct arena *arena, struct err *err)
{
    const struct param *interfaces = items_of(draft->node_config, "NetworkInterfaces");
    struct str subnet = STR("");
    if (!find_subnet(draft, &subnet, err)) {
        return false;
    }
    if (interfaces) {
        add_interfaces(call, interfaces, subnet, draft, arena);
        return true;
    }
    param_add_text(call, "SubnetId", subnet, arena);
    add_groups(call, "SecurityGroupIds", draft, arena);
    return true;
}

static void add_identity(struct param *call, const struct launch_draft *draft, struct arena *arena)
{
    const struct aws_type_facts *facts = draft->facts;
    const struct param *profile = param_get(draft->node_config, PARAM_MAP, "IamInstanceProfile");
    struct str key = facts->makes_key ? draft->own_key : facts->key;
    if (key.len > 0) {
        param_add_text(call, "KeyName", key, arena);
    }
    if (profile) {
        add_shared(call, profile, arena);
    } else if (facts->makes_profile) {
        struct param *own = param_add_map(call, "IamInstanceProfile", arena);
        param_add_text(own, "Name", draft->own_profile, arena);
    }
}

/* ---- instance settings ---- */

static void add_metadata(struct param *call, const struct launch_draft *draft, struct arena *arena)
{
    const struct param *given = param_get(draft->node_config, PARAM_MAP, "MetadataOptions");
    given = given ? given : draft->facts->metadata;
    struct param *options = param_add_map(call, "MetadataOptions", arena);
    for (const struct param *child = given ? given->first : NULL; child; child = child->next) {
        add_shared(options, child, arena);
    }
    if (!param_find(options, "HttpTokens")) {
        param_add_text(options, "HttpTokens", STR("required"), arena);
    }
    if (!param_find(options, "HttpPutResponseHopLimit")) {
        param_add_number(options, "HttpPutResponseHopLimit", 1, arena);
    }
}

/* The request decides the market; the file's options apply only if they are for that market. */
static void add_market(struct param *call, const struct launch_draft *draft, struct arena *arena)
{
    const struct param *given = param_get(draft->node_config, PARAM_MAP, "InstanceMarketOptions");
    bool is_spot = draft->request->market == MARKET_SPOT;
    bool gives_spot = str_is(param_text(given, "MarketType"), "spot");
    if (given && is_spot == gives_spot) {
        add_shared(call, given, arena);
    } else if (is_spot) {
        struct param *options = param_add_map(call, "InstanceMarketOptions", arena);
        param_add_text(options, "MarketType", STR("spot"), arena);
    }
}

/* For an image that we chose. */
static void launch_encode_add_disk(struct param *call, const struct aws_type_facts *facts,
                                   struct arena *arena)
{
    if (facts->root_gib > 0 && facts->root_device.len > 0) {
        struct param *disk = param_add_map(param_add_list(call, "BlockDeviceMappings", arena), "",
                                           arena);
        struct param *ebs = param_add_map(disk, "Ebs", arena);
        param_add_text(disk, "DeviceName", facts->root_device, arena);
        param_add_number(ebs, "VolumeSize", facts->root_gib, arena);
        param_add_text(ebs, "VolumeType", STR("gp3"), arena);
        param_add_bool(ebs, "DeleteOnTermination", true, arena);
    }
}

static void launch_encode_add_machine(struct param *call, const struct launch_draft *draft,
                                      struct arena *arena)
{
    const struct param *config = draft->node_config;
    struct str shutdown = param_text(config, "InstanceInitiatedShutdownBehavior");
    struct str user_data = draft->request->user_data;
    user_data = user_data.len > 0 ? user_data : param_text(config, "UserData");
    param_add_text(call, "ImageId", draft->facts->image, arena);
    param_add_text(call, "InstanceType", draft->facts->machine, arena);
    launch_encode_add_disk(call, draft->facts, arena);
    /* A worker that lost its cluster shuts itself down (app/contact.h). No process would terminate
     * it then, so EC2 must, even if idle workers are normally stopped and kept. A head is stopped.
     * A setting in the file takes precedence. */
    struct str usual = draft->request->rests ? STR("stop") : STR("terminate");
    param_add_text(call, "InstanceInitiatedShutdownBehavior", shutdown.len > 0 ? shutdown : usual,
                   arena);
    if (user_data.len > 0) {
        param_add_text(call, "UserData", user_data, arena);
    }
    add_metadata(call, draft, arena);
    add_market(call, draft, arena);
}

/* ---- tags ---- */

static struct param *find_tag(const struct param *tags, struct str key)
{
    for (struct param *tag = tags->first; tag; tag = tag->next) {
        if (str_eq(param_text(tag, "Key"), key)) {
            return tag;
        }
    }
    return NULL;
}

/* The tags of one resource type, created on first use. */
static struct param *tags_for(struct param *specs, struct str kind, struct arena *arena)
{
    for (struct param *spec = specs->first; spec; spec = spec->next) {
        if (str_eq(param_text(spec, "ResourceType"), kind)) {
            return param_find(spec, "Tags");
        }
    }
    struct param *spec = param_add_map(specs, "", arena);
    param_add_text(spec, "ResourceType", kind, arena);
    return param_add_list(spec, "Tags", arena);
}

static void set_tag(struct param *tags, struct str key, struct str value, struct arena *arena)
{
    struct param *there = find_tag(tags, key);
    if (there) {
        param_find(there, "Value")->text = value;
    } else {
        param_add_tag(tags, key, value, arena);
    }
}

static void add_own_tags(struct param *specs, const char *kind, const struct launch_draft *draft,
                         struct arena *arena)
{
    const struct launch_request *request = draft->request;
    struct param *tags = tags_for(specs, str_from(kind), arena);
    param_add_tag(tags, STR("ray-cluster-name"), draft->cluster_name, arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), draft->uid, arena);
    param_add_tag(tags, STR(TAG_LAUNCH), launch_number_text(request->launch, arena), arena);
    param_add_tag(tags, STR(TAG_EPOCH),
                  arena_printf(arena, "%llu", (unsigned long long)draft->epoch), arena);
    param_add_tags(tags, draft->tags, arena);
}

/* As in Ray, the file's tags override Ray's; but never those by which we identify an instance. */
static void add_file_tags(struct param *specs, const struct param *config, struct arena *arena)
{
    for (const struct param *spec = items_of(config, "TagSpecifications"); spec;
         spec = spec->next) {
        struct param *tags = tags_for(specs, param_text(spec, "ResourceType"), arena);
        for (const struct param *tag = items_of(spec, "Tags"); tag; tag = tag->next) {
            if (!str_starts(param_text(tag, "Key"), "shoal-")) {
                set_tag(tags, param_text(tag, "Key"), param_text(tag, "Value"), arena);
            }
        }
    }
}

static bool check_tags(const struct param *specs, struct err *err)
{
    for (const struct param *spec = specs->first; spec; spec = spec->next) {
        size_t count = 0;
        for (const struct param *tag = items_of(spec, "Tags"); tag; tag = tag->next) {
            struct str key = param_text(tag, "Key");
            if (key.len == 0 || key.len > TAG_KEY_MAX ||
                param_text(tag, "Value").len > TAG_VALUE_MAX) {
                return err_set(err, ERR_CONFIG, "the tag \"%.*s\" or its value is too long",
                               STR_ARG(key));
            }
            count++;
        }
        if (count > TAGS_MAX) {
            return err_set(err, ERR_CONFIG,
                           "an instance would have %zu tags, but AWS accepts only %d", count,
                           TAGS_MAX);
        }
    }
    return true;
}

static bool launch_encode_add_tags(struct param *call, const struct launch_draft *draft,
                                   struct arena *arena, struct err *err)
{
    const struct launch_request *request = draft->request;
    struct param *specs = param_add_list(call, "TagSpecifications", arena);
    add_own_tags(specs, "instance", draft, arena);
    for (size_t i = 0; i < request->tag_count; i++) {
        bool is_name = str_is(request->tags[i].key, "ray-node-name");
        set_tag(tags_for(specs, STR("instance"), arena),
                is_name ? STR("Name") : request->tags[i].key, request->tags[i].value, arena);
    }
    add_own_tags(specs, "volume", draft, arena);
    add_own_tags(specs, "network-interface", draft, arena);
    /* EC2 rejects tags for a spot request if the call creates none. */
    if (request->market == MARKET_SPOT) {
        add_own_tags(specs, "spot-instances-request", draft, arena);
    }
    add_file_tags(specs, draft->node_config, arena);
    return check_tags(specs, err);
}

/* ---- the call ---- */

static bool check_token(struct str token, struct err *err)
{
    bool ok = token.len > 0 && token.len <= LAUNCH_TOKEN_MAX;
    for (size_t i = 0; i < token.len && ok; i++) {
        char c = token.ptr[i];
        ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    }
    return ok || err_set(err, ERR_INTERNAL, "internal error: invalid launch token");
}

static bool check_ready(const struct launch_draft *draft, struct err *err)
{
    const struct aws_type_facts *facts = draft->facts;
    if (draft->request->count < 1) {
        return err_set(err, ERR_INTERNAL, "internal error: launch of no instances");
    }
    if (draft->uid.len == 0 || draft->epoch == 0) {
        return err_set(err, ERR_INTERNAL, "internal error: launch without the lease");
    }
    if ((facts->makes_group && draft->own_group.len == 0) ||
        (facts->makes_key && draft->own_key.len == 0) ||
        (facts->makes_profile && draft->own_profile.len == 0)) {
        return err_set(err, ERR_INTERNAL,
                       "internal error: launch before the key pair, security group and role exist");
    }
    return check_token(draft->request->token, err);
}

bool launch_draft_make(const struct launch_draft *draft, struct arena *arena,
                       struct param **ret_call, struct err *err)
{
    struct param *call = param_new_map(arena);
    if (!check_ready(draft, err)) {
        return false;
    }
    if (draft->node_config) {
        pass_through(call, draft->node_config, arena);
    }
    launch_encode_add_machine(call, draft, arena);
    if (!launch_encode_add_place(call, draft, arena, err)) {
        return false;
    }
    add_identity(call, draft, arena);
    if (!launch_encode_add_tags(call, draft, arena, err)) {
        return false;
    }
    param_add_number(call, "MinCount", 1, arena);
    param_add_number(call, "MaxCount", draft->request->count, arena);
    if (draft->is_dry_run) {
        param_add_bool(call, "DryRun", true, arena);
    } else {
        param_add_text(call, "ClientToken", draft->request->token, arena);
    }
    *ret_call = call;
    return true;
}

bool launch_draft_write(const struct launch_draft *draft, struct arena *arena, struct str *ret_body,
                        struct err *err)
{
    struct param *call;
    AUTO_BUF struct buf body;
    buf_init(&body, LAUNCH_DRAFT_BYTES_MAX);
    if (!launch_draft_make(draft, arena, &call, err) ||
        !query_write(QUERY_EC2, "RunInstances", call, &body, err)) {
        return false;
    }
    *ret_body = arena_str(arena, buf_str(&body));
    return true;
}
