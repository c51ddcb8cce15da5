/* preflight_dry_run.c: writes the calls of a launch as dry runs. */
#include "provider/aws/preflight/preflight_dry_run.h"

#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/machines/launch_encode.h"

/* base64 of a public key; EC2 checks permissions before it validates the key. */
#define DRY_RUN_KEY                                                                    \
    "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB" \
    "QUFBQUFBQUFBQUFBQUFBQQ=="
#define DRY_RUN "dry-run" /* instead of a uid */

bool preflight_dry_launch(const struct provider_cluster *cluster, size_t type,
                          const struct aws_type_facts *facts, struct arena *arena,
                          struct param **ret_input)
{
    const struct provider_type *source = &cluster->types[type];
    const char *kind = source->is_head ? "head" : "worker";
    const struct param *market = param_get(source->node_config, PARAM_MAP, "InstanceMarketOptions");
    const struct machine_tag tags[] = {
        {STR("ray-node-name"), arena_printf(arena, "ray-%.*s-%s", STR_ARG(cluster->name), kind)},
        {STR("ray-node-type"), str_from(kind)},
        {STR("ray-user-node-type"), source->name},
    };
    const struct launch_request request = {
        .token = STR(DRY_RUN),
        .type = type,
        .market = str_is(param_text(market, "MarketType"), "spot") ? MARKET_SPOT : MARKET_ON_DEMAND,
        .count = 1,
        .tags = tags,
        .tag_count = ARRAY_LEN(tags)};
    struct aws_type_facts there = *facts;
    there.makes_group = there.makes_key = there.makes_profile = false;
    const struct launch_draft draft = {.request = &request,
                                       .node_config = source->node_config,
                                       .facts = &there,
                                       .cluster_name = cluster->name,
                                       .uid = STR(DRY_RUN),
                                       .epoch = 1,
                                       .tags = provider_tags(cluster),
                                       .is_dry_run = true};
    struct err err;
    return facts->image.len > 0 && facts->machine.len > 0 &&
           launch_draft_make(&draft, arena, ret_input, &err);
}

static void preflight_dry_run_add_tags(struct param *input, const char *kind,
                                       const struct provider_cluster *cluster, struct arena *arena)
{
    struct param *spec = param_add_map(param_add_list(input, "TagSpecifications", arena), "",
                                       arena);
    param_add_text(spec, "ResourceType", str_from(kind), arena);
    struct param *tags = param_add_list(spec, "Tags", arena);
    param_add_tag(tags, STR("ray-cluster-name"), cluster->name, arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), STR(DRY_RUN), arena);
    param_add_tags(tags, provider_tags(cluster), arena);
}

struct param *preflight_dry_making(const struct provider_cluster *cluster,
                                   enum preflight_making making, const struct aws_facts *facts,
                                   struct arena *arena)
{
    struct str name = aws_own_name(cluster->name, STR(DRY_RUN), "", arena);
    struct param *input = param_new_map(arena);
    const char *kind = "launch-template";
    param_add_bool(input, "DryRun", true, arena);
    if (making == MAKING_LEASE) {
        param_add_text(input, "LaunchTemplateName", name, arena);
        param_add_text(param_add_map(input, "LaunchTemplateData", arena), "InstanceType",
                       facts->types[0].machine, arena);
    } else if (making == MAKING_GROUP) {
        if (!facts->types[0].makes_group || facts->vpc.len == 0) {
            return NULL;
        }
        kind = "security-group";
        param_add_text(input, "GroupName", name, arena);
        param_add_text(input, "GroupDescription", name, arena);
        param_add_text(input, "VpcId", facts->vpc, arena);
    } else {
        if (!facts->types[0].makes_key) {
            return NULL;
        }
        kind = "key-pair";
        param_add_text(input, "KeyName", name, arena);
        param_add_text(input, "PublicKeyMaterial", STR(DRY_RUN_KEY), arena);
    }
    preflight_dry_run_add_tags(input, kind, cluster, arena);
    return input;
}
