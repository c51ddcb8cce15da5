/* sim_launch.c: launches. The same token returns the instances of the first call. */
#include "sim_call.h"

#include "provider/launch_token.h"

static struct str tag_of(const struct launch_request *request, const char *key)
{
    for (size_t i = 0; i < request->tag_count; i++) {
        if (str_is(request->tags[i].key, key)) {
            return request->tags[i].value;
        }
    }
    return STR("-");
}

/* "TOKEN LAUNCH COUNT TYPE MARKET ZONE LAUNCH_CONFIG NODE_CONFIG|user data" */
bool sim_launch_draft(struct provider *base, const struct launch_request *request,
                      struct arena *arena, struct str *ret_call, struct err *err)
{
    (void)base;
    (void)err;
    *ret_call = arena_printf(
        arena, "%.*s %.*s %lld %zu %d %.*s %.*s %.*s|%.*s", STR_ARG(request->token),
        STR_ARG(launch_number_text(request->launch, arena)), (long long)request->count,
        request->type, (int)request->market,
        STR_ARG(request->zone.len > 0 ? request->zone : STR("us-west-2a")),
        STR_ARG(tag_of(request, "ray-launch-config")), STR_ARG(tag_of(request, TAG_NODE_CONFIG)),
        STR_ARG(request->user_data));
    return true;
}

struct sim_launch sim_launch_read(struct str call)
{
    struct str rest = str_sub(call, 0, str_find_char(call, '|'));
    struct sim_launch launch = {.token = str_cut(&rest, ' ')};
    int64_t number = 0;
    bool ok = launch_number_parse(str_cut(&rest, ' '), &launch.launch) &&
              str_to_i64(str_cut(&rest, ' '), &launch.count) &&
              str_to_i64(str_cut(&rest, ' '), &number);
    launch.type = ok ? (size_t)number : 0;
    ok = ok && str_to_i64(str_cut(&rest, ' '), &number);
    launch.market = ok ? (enum market)number : MARKET_ON_DEMAND;
    launch.zone = str_cut(&rest, ' ');
    launch.launch_config = str_cut(&rest, ' ');
    launch.node_config = rest;
    return launch;
}

static struct sim_token *find_token(struct sim_cloud *cloud, struct str token)
{
    for (size_t i = 0; i < cloud->token_count; i++) {
        if (str_eq(cloud->tokens[i].token, token)) {
            return &cloud->tokens[i];
        }
    }
    return NULL;
}

static void answer_with(struct sim_call *call, const struct sim_token *token)
{
    struct world *world = call->world;
    call->machines = ARENA_ARRAY(&call->memory, token->count, struct machine);
    call->machine_count = token->count;
    for (size_t i = 0; i < token->count; i++) {
        call->machines[i] = sim_cloud_machine(world, &world->cloud.instances[token->first + i],
                                              world_now(world), &call->memory);
    }
}

static void add_instances(struct sim_call *call, const struct sim_launch *launch, int64_t count)
{
    struct world *world = call->world;
    for (int64_t i = 0; i < count; i++) {
        struct sim_instance *instance = sim_cloud_add(world, launch->type, false);
        instance->token = arena_str(&world->memory, launch->token);
        instance->zone = arena_str(&world->memory, launch->zone);
        instance->market = launch->market;
        instance->launch_config = arena_str(&world->memory, launch->launch_config);
        instance->node_config = arena_str(&world->memory, launch->node_config);
        for (size_t j = 0; j < instance->change_count; j++) {
            instance->changes[j].launch = launch->launch;
        }
        world_say(world, "cloud", "%.*s is launched by %u.%u", STR_ARG(instance->id),
                  LAUNCH_ARG(launch->launch));
    }
}

void sim_launch_effect(struct sim_call *call)
{
    struct world *world = call->world;
    struct sim_cloud *cloud = &world->cloud;
    struct sim_launch launch = sim_launch_read(call->call);
    struct sim_token *token = find_token(cloud, launch.token);
    if (token) {
        if (!str_eq(token->call, call->call)) {
            world_violate(world, "I1", "launch %u.%u is repeated with other parameters",
                          LAUNCH_ARG(launch.launch));
        }
        answer_with(call, token);
        return;
    }
    if (control_fault_strikes(&world->faults, FAULT_no_capacity, &cloud->rng)) {
        sim_call_refuse(call, OUTCOME_CAPACITY, ERR_CAPACITY, "no capacity");
        return;
    }
    int64_t count = launch.count;
    if (count > 1 && control_fault_strikes(&world->faults, FAULT_partial, &cloud->rng)) {
        count = rng_between(&cloud->rng, 1, count - 1);
    }
    token = &cloud->tokens[cloud->token_count < INSTANCES_MAX - 1 ? cloud->token_count++
                                                                  : cloud->token_count];
    *token = (struct sim_token){.token = arena_str(&world->memory, launch.token),
                                .call = arena_str(&world->memory, call->call),
                                .first = cloud->count,
                                .count = (size_t)count};
    add_instances(call, &launch, count);
    checks_on_growth(world);
    answer_with(call, token);
}
