/* print_json.c: the account as JSON with stable keys (docs/user/ls.md), in US dollars. */
#include "cli/json_object.h"
#include "cli/ls/print.h"
#include "config/document/json_write.h"
#include "io/clock.h"

enum { MILLI = 1000 };

/* ---- fields that may be unknown ---- */

static void set_name(struct arena *arena, struct value *record, const char *key, struct str text)
{
    if (text.len > 0) {
        record_text(arena, record, key, text);
    } else {
        record_null(arena, record, key);
    }
}

static void ls_print_json_set_money(struct arena *arena, struct value *record, const char *key,
                                    int64_t micro, bool is_known)
{
    if (is_known) {
        record_number(arena, record, key, (double)micro / 1e6);
    } else {
        record_null(arena, record, key);
    }
}

static void set_time(struct arena *arena, struct value *record, const char *key, int64_t moment,
                     bool is_known)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    if (is_known) {
        clock_add_utc(&text, moment * MILLI);
    }
    set_name(arena, record, key, arena_str(arena, buf_str(&text)));
}

/* ---- parts of a cluster ---- */

static const char *state_name(enum machine_state state)
{
    static const char *const names[MACHINE_STATE_COUNT] = {"pending", "running", "stopping",
                                                           "stopped", "ending",  "gone"};
    return names[state];
}

static struct value *machine_record(struct arena *arena, const struct ls_view *view,
                                    const struct account_cluster *cluster,
                                    const struct account_machine *machine)
{
    struct price_known known = account_price_of_machine(cluster, machine, &view->prices);
    bool is_known = known.price != PRICE_UNKNOWN;
    struct value *record = record_new(arena);
    record_text(arena, record, "id", machine->id);
    record_text(arena, record, "type", machine->type);
    record_text(arena, record, "zone", machine->zone);
    record_text(arena, record, "state", str_from(state_name(machine->state)));
    record_text(arena, record, "market",
                machine->market == MARKET_SPOT ? STR("spot") : STR("on-demand"));
    record_flag(arena, record, "head", machine->is_head);
    set_time(arena, record, "since", machine->launched_at, machine->launched_at != ACCOUNT_NO_TIME);
    ls_print_json_set_money(arena, record, "dollars_per_hour", known.price, is_known);
    set_name(arena, record, "price_from",
             known.source != PRICE_FROM_UNKNOWN ? str_from(price_source_name(known.source))
                                                : STR(""));
    set_time(arena, record, "price_at", known.at, is_known && known.at != 0);
    return record;
}

static struct value *volume_record(struct arena *arena, const struct account_volume *volume)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "id", volume->id);
    record_text(arena, record, "kind", volume->kind);
    record_int(arena, record, "gb", volume->gb);
    set_name(arena, record, "instance", volume->machine);
    return record;
}

static struct value *thing_record(struct arena *arena, const struct account_thing *thing)
{
    struct value *record = record_new(arena);
    record_text(arena, record, "kind", str_from(account_thing_name(thing->kind)));
    record_text(arena, record, "id", thing->id);
    return record;
}

static void set_parts(struct arena *arena, struct value *record, const struct ls_view *view,
                      const struct account_cluster *cluster)
{
    struct value *counts = record_new(arena);
    struct value *instances = record_list(arena);
    struct value *volumes = record_list(arena);
    struct value *resources = record_list(arena);
    for (int state = 0; state < MACHINE_GONE; state++) {
        record_int(arena, counts, state_name((enum machine_state)state),
                   (int64_t)cluster->counts[state]);
    }
    for (size_t i = 0; i < cluster->machine_count; i++) {
        value_list_add(arena, instances,
                       machine_record(arena, view, cluster, &cluster->machines[i]));
    }
    for (size_t i = 0; i < cluster->volume_count; i++) {
        value_list_add(arena, volumes, volume_record(arena, &cluster->volumes[i]));
    }
    for (size_t i = 0; i < cluster->thing_count; i++) {
        value_list_add(arena, resources, thing_record(arena, &cluster->things[i]));
    }
    value_map_set_c(arena, record, "nodes", counts);
    value_map_set_c(arena, record, "instances", instances);
    value_map_set_c(arena, record, "volumes", volumes);
    value_map_set_c(arena, record, "resources", resources);
}

static struct value *cluster_record(struct arena *arena, const struct ls_view *view,
                                    const struct account_cluster *cluster)
{
    struct account_cost cost = account_cost_of(cluster, &view->prices);
    bool is_whole = account_cost_is_whole(&cost);
    struct value *record = record_new(arena);
    set_name(arena, record, "name", cluster->owner.name);
    set_name(arena, record, "uid", cluster->owner.uid);
    record_text(arena, record, "provider",
                cluster->owner.project.len > 0 ? STR("gcp") : STR("aws"));
    set_name(arena, record, "project", cluster->owner.project);
    set_name(arena, record, "region", cluster->owner.region);
    record_text(arena, record, "state", str_from(account_state_name(cluster->state)));
    record_text(arena, record, "made_by", cluster->owner.uid.len > 0 ? STR("shoal") : STR("ray"));
    record_flag(arena, record, "has_head", cluster->has_head);
    set_time(arena, record, "since", cluster->since, cluster->since != ACCOUNT_NO_TIME);
    ls_print_json_set_money(arena, record, "dollars_per_hour", account_cost_sum(&cost),
                            is_whole || cost.known_count > 0);
    record_flag(arena, record, "dollars_are_complete", is_whole);
    ls_print_json_set_money(arena, record, "dollars_per_hour_of_volumes", cost.volumes,
                            cost.unknown_volumes == 0 || cost.volumes > 0);
    set_time(arena, record, "expires_at", cluster->expires_at,
             cluster->state == ACCOUNT_STOPPED && cluster->expires_at != EXPIRY_NEVER);
    record_flag(arena, record, "expired", account_is_expired(cluster, view->now));
    set_name(arena, record, "remedy", ls_remedy(arena, cluster, view->now));
    set_parts(arena, record, view, cluster);
    return record;
}

/* ---- the object ---- */

static struct value *gap_record(struct arena *arena, const struct account_gap *gap)
{
    struct value *record = record_new(arena);
    set_name(arena, record, "project", gap->project);
    set_name(arena, record, "region", gap->region);
    record_text(arena, record, "what", gap->what);
    record_text(arena, record, "kind", str_from(err_kind_name(gap->err.kind)));
    set_name(arena, record, "code", gap->code);
    record_text(arena, record, "text", arena_str(arena, str_from(gap->err.text)));
    return record;
}

bool ls_print_json(struct buf *out, struct arena *arena, const struct ls_view *view,
                   struct err *err)
{
    const struct account *account = view->account;
    struct account_cost total = ls_total(view);
    struct value *result = record_new(arena);
    struct value *regions = record_list(arena);
    struct value *clusters = record_list(arena);
    struct value *gaps = record_list(arena);
    struct value *projects = record_list(arena);
    struct value *skipped = record_list(arena);
    for (size_t i = 0; i < account->project_count; i++) {
        value_list_add(arena, projects,
                       value_string(arena, account->projects[i], (struct place){0}));
    }
    for (size_t i = 0; i < account->skipped_count; i++) {
        value_list_add(arena, skipped, gap_record(arena, &account->skipped[i]));
    }
    for (size_t i = 0; i < account->region_count; i++) {
        value_list_add(arena, regions, value_string(arena, account->regions[i], (struct place){0}));
    }
    for (size_t i = 0; i < account->cluster_count; i++) {
        value_list_add(arena, clusters, cluster_record(arena, view, &account->clusters[i]));
    }
    for (size_t i = 0; i < account->gap_count; i++) {
        value_list_add(arena, gaps, gap_record(arena, &account->gaps[i]));
    }
    set_name(arena, result, "account", account->id);
    set_time(arena, result, "at", view->now, true);
    value_map_set_c(arena, result, "regions", regions);
    value_map_set_c(arena, result, "projects", projects);
    record_flag(arena, result, "complete", account->gap_count == 0);
    bool is_whole = account_cost_is_whole(&total);
    ls_print_json_set_money(arena, result, "dollars_per_hour", account_cost_sum(&total),
                            is_whole || total.known_count > 0);
    record_flag(arena, result, "dollars_are_complete", is_whole);
    value_map_set_c(arena, result, "clusters", clusters);
    value_map_set_c(arena, result, "gaps", gaps);
    value_map_set_c(arena, result, "skipped", skipped);
    bool ok = json_write(out, result, JSON_PRETTY, err);
    buf_add_char(out, '\n');
    return ok;
}
