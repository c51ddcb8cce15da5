/* core_setup.c: builds the core's node types, offerings and prices. */
#include "app/core_setup.h"

#include "app/core_times.h"
#include "app/node_kind.h"
#include "app/type_zones.h"
#include "base/suggest.h"
#include "provider/machine_tags.h"

#include <math.h>

enum {
    ZONES_MAX = 32,
    MACHINES_PER_CALL = 100,
    NODES_BESIDE = 64, /* extra node records, for instances that terminate while others launch */
};

struct core_setup_maker {
    struct arena *arena;
    const struct config *config;
    const struct workload_file *workload; /* or NULL */
    struct diag_list *diags;
    struct core_setup *setup;
    struct str type_zones; /* zones from the preflight; empty if there was none */
};

/* ---- zones ---- */

/* The zones found by the preflight, else those of the file ("us-west-2a,us-west-2b"), else the
 * region as the only one. */
static size_t zones_of(const struct core_setup_maker *maker, struct str type, uint32_t *zones)
{
    const struct value *provider = maker->config->provider;
    struct names *names = &maker->setup->names;
    struct str found = type_zones_find(maker->type_zones, type);
    struct str rest = found.len > 0 ? found
                                    : value_text(value_get_c(provider, "availability_zone"));
    char between = found.len > 0 ? ' ' : ',';
    size_t count = 0;
    while (rest.len > 0 && count < ZONES_MAX) {
        struct str zone = str_trim(str_cut(&rest, between));
        if (zone.len > 0) {
            zones[count++] = intern_add(names, zone);
        }
    }
    if (count == 0) {
        struct str region = maker->setup->region;
        zones[count++] = intern_add(names, region.len > 0 ? region : maker->config->provider_type);
    }
    return count;
}

/* ---- prices ---- */

static struct price_known core_setup_price_of(const struct core_setup *setup,
                                              const struct type_facts *facts, uint32_t zone,
                                              bool is_spot)
{
    struct price_subject subject = {.type = facts->name,
                                    .machine = facts->machine,
                                    .zone = intern_text(&setup->names, zone),
                                    .is_spot = is_spot};
    return hourly_price(&setup->book, &subject);
}

int64_t core_setup_price(const struct core_setup *setup, const struct machine *machine)
{
    struct price_subject subject = {.type = machine_tag_value(machine, "ray-user-node-type"),
                                    .machine = machine->type,
                                    .zone = machine->zone,
                                    .is_spot = machine->market == MARKET_SPOT};
    return hourly_price(&setup->book, &subject).price;
}

static void set_price(struct core_setup *setup, struct type_facts *facts, uint32_t zone)
{
    struct price_known known = core_setup_price_of(setup, facts, zone, facts->is_spot);
    facts->price = known.price;
    facts->source = known.source;
    facts->is_share = known.is_share;
}

/* ---- node types ---- */

static struct resource_set core_setup_resources_of(const struct core_setup_maker *maker,
                                                   const struct config_node_type *type)
{
    for (size_t i = 0; maker->workload && i < maker->workload->machine_count; i++) {
        if (str_eq(maker->workload->machines[i].type, type->name)) {
            return maker->workload->machines[i].resources;
        }
    }
    if (type->resources.count == 0 && config_is_local(maker->config) && !maker->workload) {
        return type_zones_resources(maker->type_zones, type->name, maker->arena);
    }
    return type->resources;
}

static void make_type(const struct core_setup_maker *maker, const struct config_node_type *source,
                      struct plan_type *type, struct type_facts *facts)
{
    struct names *names = &maker->setup->names;
    struct resource_set resources = core_setup_resources_of(maker, source);
    struct capacity *capacities = ARENA_ARRAY(maker->arena, resources.count, struct capacity);
    struct label *labels = ARENA_ARRAY(maker->arena, source->label_count, struct label);
    for (size_t i = 0; i < resources.count; i++) {
        const struct resource *resource = &resources.items[i];
        capacities[i] = (struct capacity){intern_add(names, resource->name), resource->amount,
                                          resource->amount};
    }
    for (size_t i = 0; i < source->label_count; i++) {
        labels[i] = (struct label){intern_add(names, source->labels[i].name),
                                   intern_add(names, source->labels[i].value)};
    }
    bool has_own_timeout = source->idle_timeout_ms != maker->config->idle_timeout_ms;
    *type = (struct plan_type){
        .name = source->name,
        .min_nodes = source->min_workers > 0 ? source->min_workers : 0,
        .max_nodes = source->max_workers > 0 ? source->max_workers : 0,
        .capacities = capacities,
        .capacity_count = resources.count,
        .labels = {labels, source->label_count},
        .priority = source->priority,
        .idle_timeout_ms = has_own_timeout ? source->idle_timeout_ms : PLAN_NO_LIMIT,
        .launch_hash = NAME_NONE,
        .recoverable = 1.0,
        .availability = 1.0,
    };
    *facts = (struct type_facts){.name = source->name,
                                 .machine = node_kind_machine(source),
                                 .is_spot = node_kind_is_spot(source)};
    uint32_t zones[ZONES_MAX];
    zones_of(maker, facts->name, zones);
    set_price(maker->setup, facts, zones[0]);
    type->price = facts->price;
}

static void make_types(const struct core_setup_maker *maker)
{
    size_t count = maker->config->node_type_count;
    struct plan_type *types = ARENA_ARRAY(maker->arena, count, struct plan_type);
    struct type_facts *facts = ARENA_ARRAY(maker->arena, count, struct type_facts);
    for (size_t i = 0; i < count; i++) {
        make_type(maker, &maker->config->node_types[i], &types[i], &facts[i]);
    }
    maker->setup->facts = facts;
    maker->setup->settings.types = types;
    maker->setup->settings.type_count = count;
}

/* Spot in all zones comes before on-demand in any, if the file allows on-demand at all. */
static void make_offerings(const struct core_setup_maker *maker)
{
    struct core_setup *setup = maker->setup;
    uint32_t zones[ZONES_MAX];
    size_t type_count = setup->settings.type_count;
    struct str fallback = value_text(value_get_c(maker->config->shoal, "spot_fallback"));
    struct offering *offerings = ARENA_ARRAY(maker->arena, type_count * ZONES_MAX * 2,
                                             struct offering);
    size_t count = 0;
    for (uint32_t i = 0; i < type_count; i++) {
        const struct type_facts *facts = &setup->facts[i];
        size_t zone_count = zones_of(maker, facts->name, zones);
        bool falls_back = facts->is_spot && str_is(fallback, "on-demand");
        for (size_t zone = 0; zone < zone_count; zone++) {
            offerings[count++] = (struct offering){
                i, zones[zone], facts->is_spot ? MARKET_SPOT : MARKET_ON_DEMAND,
                core_setup_price_of(setup, facts, zones[zone], facts->is_spot).price};
        }
        for (size_t zone = 0; falls_back && zone < zone_count; zone++) {
            offerings[count++] = (struct offering){
                i, zones[zone], MARKET_ON_DEMAND,
                core_setup_price_of(setup, facts, zones[zone], false).price};
        }
    }
    setup->settings.offerings = offerings;
    setup->settings.offering_count = count;
}

/* ---- unknown names ---- */

static void warn_of(const struct core_setup_maker *maker, const char *what, struct str name,
                    struct place place, bool with_machines)
{
    const struct core_setup *setup = maker->setup;
    struct suggest suggest;
    suggest_start(&suggest, name);
    for (size_t i = 0; i < setup->settings.type_count; i++) {
        const struct type_facts *facts = &setup->facts[i];
        if (str_eq(facts->name, name) || (with_machines && str_eq(facts->machine, name))) {
            return;
        }
        suggest_offer(&suggest, facts->name);
        suggest_offer(&suggest, with_machines ? facts->machine : STR(""));
    }
    struct diag *diag = diag_warn(maker->diags, "unused-name", place,
                                  "%s names \"%.*s\", which is not in the cluster file", what,
                                  STR_ARG(name));
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        diag_hint(maker->diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    }
}

static void warn_of_names(const struct core_setup_maker *maker)
{
    const struct workload_file *workload = maker->workload;
    for (size_t i = 0; workload && i < workload->price_count; i++) {
        warn_of(maker, "prices", workload->prices[i].name, workload->prices[i].place, true);
    }
    for (size_t i = 0; workload && i < workload->machine_count; i++) {
        warn_of(maker, "node_resources", workload->machines[i].type, workload->machines[i].place,
                false);
    }
}

/* ---- entry points ---- */

/* Without upscaling_speed there is no limit: all nodes launch at once. Only a value in the file
 * sets one. */
static int64_t upscaling_of(const struct config *config)
{
    const struct value *written = value_get_c(config->tree, "upscaling_speed");
    double permille = config->upscaling_speed * 1000;
    if (!written || !place_is_users(written->place) || !(permille >= 0 && permille < 1e12)) {
        return PLAN_NO_LIMIT;
    }
    return (int64_t)permille;
}

/* max_hourly_cost applies to the whole cluster, so the head's price is subtracted. */
static int64_t price_limit(const struct config *config, int64_t head)
{
    const struct value *value = value_get_c(config->shoal, "max_hourly_cost");
    double dollars;
    if (!value || !value_number(value, &dollars) || !(dollars >= 0 && dollars <= 1e9)) {
        return PLAN_NO_LIMIT;
    }
    int64_t limit = (int64_t)round(dollars * 1e6) - (head > 0 ? head : 0);
    return limit > 0 ? limit : 0;
}

static void set_limit(struct core_setup *setup, const struct config *config)
{
    int64_t head = setup->facts[config->head_type].price;
    setup->settings.max_price = price_limit(config, head);
    setup->settings.has_unpriced_head = head == PRICE_UNKNOWN && !config_is_local(config);
}

/* If Ray's disable_launch_config_check is set, nodes of a removed or changed type are kept; by
 * default they are replaced. */
static bool keeps_outdated(const struct config *config)
{
    return value_is_true(value_get_c(config->provider, "disable_launch_config_check"));
}

/* metadata.shoal.max_unavailable; 0 means no limit. */
static int64_t max_unavailable(const struct config *config)
{
    const struct value *value = value_get_c(config->shoal, "max_unavailable");
    double count;
    if (!value || !value_number(value, &count) || !(count >= 0 && count <= 1e6)) {
        return 1;
    }
    return count > 0 ? (int64_t)count : PLAN_NO_LIMIT;
}

static bool core_setup_has_resources(const struct core_settings *settings)
{
    for (size_t i = 0; i < settings->type_count; i++) {
        if (settings->types[i].capacity_count > 0) {
            return true;
        }
    }
    return false;
}

static bool core_setup_reject(const struct core_setup_maker *maker, struct err *err)
{
    const struct config *config = maker->config;
    struct str name = config->node_types[config->node_type_count - 1].name;
    return err_set(err, ERR_CONFIG,
                   "the cluster file does not say what resources its nodes have, so nothing can "
                   "run\n"
                   "  add to the workload file:  node_resources: {%.*s: {CPU: 16, memory: 64GiB}}",
                   STR_ARG(str_sub(name, 0, 100)));
}

static int64_t keep_failed_ms(const struct value *shoal)
{
    enum { MINUTE_MS = 60 * 1000, MINUTES_MAX = 7 * 24 * 60 };
    double minutes;
    if (!value_number(value_get_c(shoal, KEEP_FAILED_KEY), &minutes) || !(minutes > 0)) {
        return 0;
    }
    return (int64_t)((minutes < MINUTES_MAX ? minutes : MINUTES_MAX) * MINUTE_MS);
}

bool core_setup_make(struct arena *arena, const struct config *config,
                     const struct workload_file *workload, struct diag_list *diags,
                     struct core_setup *ret_setup, struct err *err)
{
    struct core_setup_maker maker = {arena, config, workload, diags, ret_setup, STR("")};
    struct core_settings *settings = &ret_setup->settings;
    struct str region = value_text(value_get_c(config->provider, "region"));
    if (config->node_type_count == 0) {
        return err_set(err, ERR_CONFIG, "the cluster file has no node types");
    }
    *ret_setup = (struct core_setup){0};
    ret_setup->region = region.len > 0 ? region
                                       : value_text(value_get_c(config->provider, "location"));
    ret_setup->book = (struct price_book){.written = value_get_c(config->shoal, "prices"),
                                          .workload = workload,
                                          .region = ret_setup->region,
                                          .is_listed = str_is(config->provider_type, "aws")};
    intern_init(&ret_setup->names, arena);
    make_types(&maker);
    make_offerings(&maker);
    warn_of_names(&maker);
    int64_t most = config->max_workers > 0 ? config->max_workers : 0;
    settings->names = &ret_setup->names;
    settings->max_workers = most;
    set_limit(ret_setup, config);
    settings->idle_timeout = config->idle_timeout_ms;
    settings->keep_failed = keep_failed_ms(config->shoal);
    settings->upscaling_permille = upscaling_of(config);
    settings->strategy = PLAN_RAY;
    settings->work_budget = PLAN_WORK_DEFAULT;
    settings->conserves_gpus = true;
    settings->keeps_outdated = keeps_outdated(config);
    settings->max_unavailable = max_unavailable(config);
    settings->head_type = (uint32_t)config->head_type;
    settings->min_excludes_head = config_is_local(config);
    settings->max_per_call = MACHINES_PER_CALL;
    settings->node_capacity = 2 * (size_t)(most < 100000 ? most : 100000) + NODES_BESIDE;
    core_times_make(&settings->times, settings->idle_timeout);
    if (config_is_local(config)) {
        core_times_list_at_once(&settings->times);
    }
    return core_setup_has_resources(settings) || core_setup_reject(&maker, err);
}

/* In place: the core reads these arrays. */
void core_setup_reprice(const struct config *config, struct core_setup *setup)
{
    struct offering *offerings = (struct offering *)(uintptr_t)setup->settings.offerings;
    struct type_facts *facts = (struct type_facts *)(uintptr_t)setup->facts;
    struct plan_type *types = (struct plan_type *)(uintptr_t)setup->settings.types;
    for (size_t i = setup->settings.offering_count; i > 0; i--) {
        struct offering *offering = &offerings[i - 1];
        bool is_spot = offering->market == MARKET_SPOT;
        struct type_facts *type = &facts[offering->type];
        offering->price = core_setup_price_of(setup, type, offering->zone, is_spot).price;
        if (is_spot == type->is_spot) {
            set_price(setup, type, offering->zone); /* finally that of its first zone */
            types[offering->type].price = type->price;
        }
    }
    set_limit(setup, config);
}

void core_setup_place(struct arena *arena, const struct config *config, struct str type_zones,
                      struct core_setup *setup)
{
    struct core_setup_maker maker = {
        .arena = arena, .config = config, .setup = setup, .type_zones = type_zones};
    if (config_is_local(config)) {
        make_types(&maker);
    }
    make_offerings(&maker);
    core_setup_reprice(config, setup);
}
