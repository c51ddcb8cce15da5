/* external_provider.c: the table of operations, and what a preflight says about a plug-in. */
#include "provider/external/external_provider.h"
#include "provider/random_id.h"

#include "base/encode.h"
#include "io/json_line.h"
#include "io/xalloc.h"
#include "provider/external/external_operation.h"

enum { FINDINGS_MAX = 4 + PLUGIN_NOTES_MAX };

struct external_provider *external_of(struct provider *base)
{
    return (struct external_provider *)base;
}

/* ---- preflight ---- */

static struct finding *external_provider_find(struct finding *finding, enum finding_level level,
                                              struct str text, const char *remedy)
{
    *finding = (struct finding){
        .level = level, .subject = STR("plug-in"), .text = text, .remedy = str_from(remedy)};
    return finding;
}

/* The guarantees that are weaker with this plug-in. */
static size_t find_weaknesses(const struct plugin_hello *hello, struct finding *findings)
{
    size_t count = 0;
    if (!hello->has_tokens) {
        external_provider_find(
            &findings[count++], FINDING_WARNING,
            STR("the cloud has no idempotency tokens: a launch without a reply is settled by "
                "listing the instances. If the cloud lists a new instance late, the cluster can "
                "have an extra worker until it is idle"),
            "set list_delay_s in the reply to hello to the longest delay of a listing");
    }
    if (!hello->has_atomic_swap) {
        external_provider_find(
            &findings[count++], FINDING_WARNING,
            STR("the plug-in has no atomic compare-and-swap: two commands that start at the same "
                "moment can both change the cluster"),
            "do not run shoal up or shoal down on two machines at the same time");
    }
    if (!hello->has_tags) {
        external_provider_find(
            &findings[count++], FINDING_WARNING,
            STR("instances have no tags, so only the stored record says which are the cluster's: "
                "if it is lost, shoal down does not find them"),
            "if the record is lost, terminate the instances with the tools of the cloud");
    }
    return count;
}

static void external_provider_on_surveyed(struct external_operation *operation)
{
    struct external_provider *provider = operation->provider;
    struct arena *arena = &operation->arena;
    const struct plugin_hello *hello = external_greeting(operation);
    struct finding findings[FINDINGS_MAX];
    size_t count = 0;
    if (operation->answer.outcome == OUTCOME_DONE) {
        struct str name = hello->name.len > 0 ? hello->name : STR("without a name");
        external_provider_find(&findings[count++], FINDING_FINE,
                               arena_printf(arena, "%.*s: replies and lists %zu instance%s",
                                            STR_ARG(str_sub(name, 0, 80)), operation->listed_count,
                                            operation->listed_count == 1 ? "" : "s"),
                               "");
        count += find_weaknesses(hello, &findings[count]);
        for (size_t i = 0; i < hello->note_count; i++) {
            external_provider_find(&findings[count++], FINDING_WARNING, hello->notes[i], "");
        }
        for (size_t i = 0; i < count; i++) {
            findings[i].path = provider->path;
        }
        provider->zone_count = hello->zone_count;
        for (size_t i = 0; i < hello->zone_count; i++) {
            provider->zones[i] = arena_str(&provider->arena, hello->zones[i]);
        }
    }
    operation->surveyed(operation->context, &operation->answer, findings, count);
    external_end(operation);
}

static void external_preflight(struct provider *base, enum preflight_scope scope,
                               provider_preflight_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    (void)scope;
    operation->surveyed = done;
    external_read_list(operation, external_provider_on_surveyed);
}

static size_t external_zones(struct provider *base, size_t type, struct str *ret_zones, size_t most)
{
    const struct external_provider *provider = external_of(base);
    size_t count = provider->zone_count < most ? provider->zone_count : most;
    (void)type;
    for (size_t i = 0; i < count; i++) {
        ret_zones[i] = provider->zones[i];
    }
    return count;
}

static struct provider_type_facts external_type_facts(struct provider *base, size_t type)
{
    (void)base;
    (void)type;
    return (struct provider_type_facts){0};
}

/* ---- lifetime ---- */

static void external_close(struct provider *base)
{
    struct external_provider *provider = external_of(base);
    while (provider->operations) {
        external_end(provider->operations);
    }
    plugin_free(provider->plugin);
    json_decref(provider->settings);
    json_decref(provider->more);
    arena_clear(&provider->arena);
    free(provider);
}

static const struct provider_ops ops = {
    .name = "external",
    .preflight = external_preflight,
    .zones = external_zones,
    .type_facts = external_type_facts,
    .take = external_take,
    .renew = external_renew,
    .release = external_release,
    .prepare = external_prepare,
    .find = external_find,
    .adopt = external_adopt,
    .remove = external_remove,
    .list = external_list,
    .list_by = external_list_by,
    .draft = external_draft,
    .launch = external_launch,
    .terminate = external_terminate,
    .stop = external_stop,
    .start = external_start,
    .tag = external_tag_all,
    .close = external_close,
};

bool external_provider_open(const struct external_setup *setup,
                            const struct provider_cluster *cluster, struct provider **ret_provider,
                            struct err *err)
{
    json_t *more = NULL;
    if (setup->more && !json_line_read(str_from(setup->more), "the cluster file", &more, err)) {
        return false;
    }
    struct external_provider *provider = HEAP_NEW(struct external_provider);
    arena_init(&provider->arena);
    if (!random_id(&provider->arena, &provider->nonce, err)) {
        json_decref(more);
        free(provider);
        return false;
    }
    provider->base.ops = &ops;
    provider->loop = setup->loop;
    provider->cluster = cluster;
    provider->settings = external_param_json(cluster->provider);
    provider->more = more;
    provider->path = str_from(setup->path ? setup->path : "provider.command");
    provider->plugin = plugin_new(&(struct plugin_setup){
        .loop = setup->loop,
        .children = setup->children,
        .argv = setup->argv,
        .env = setup->env,
        .cluster = arena_str(&provider->arena, cluster->name).ptr,
        .settings = provider->settings,
        .more = more,
        .what = setup->what,
        .deadline_ms = setup->deadline_ms,
    });
    *ret_provider = &provider->base;
    return true;
}
