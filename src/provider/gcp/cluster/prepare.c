/*
 * prepare.c: the firewall rules of a cluster, by its network tag: all traffic between its
 * instances, and ssh from the user's address or from Google's tunnel. Firewall rules have no
 * labels: the uid is in the description. The ssh key is in the record, because each launch needs
 * it.
 */
#include "io/json_line.h"
#include "provider/cidr.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/gcp/wire/gcp_names.h"
#include "provider/host_record.h"
#include "provider/variable.h"

#include <string.h>

enum { CALLER_MS = 10 * 1000, CALLER_BYTES_MAX = 4096, RANGES_MAX = 32, AGAIN_MS = 200 };
enum rule { RULE_INSIDE, RULE_SSH, RULE_COUNT };

#define CALLER_URL "https://checkip.amazonaws.com/"

static const char *const endings[RULE_COUNT] = {"in", "ssh"};

/* ---- names ---- */

struct str gcp_network_tag(const struct gcp_provider *provider, struct arena *arena)
{
    return gcp_rule_prefix(provider->part, provider->uid, arena);
}

static struct str rule_name(const struct gcp_provider *provider, enum rule rule,
                            struct arena *arena)
{
    return arena_printf(arena, "%.*s-%s", STR_ARG(gcp_network_tag(provider, arena)), endings[rule]);
}

const struct param *gcp_interface(const struct gcp_provider *provider)
{
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        const struct param *list = param_get(gcp_config(provider, i), PARAM_LIST,
                                             "networkInterfaces");
        if (list && list->first) {
            return list->first;
        }
    }
    return NULL;
}

struct str gcp_host_project(const struct gcp_provider *provider)
{
    const struct param *interface = gcp_interface(provider);
    struct str rest = param_text(interface, "subnetwork");
    rest = rest.len > 0 ? rest : param_text(interface, "network");
    size_t at = str_find(rest, "projects/");
    rest = str_sub(rest, at == SIZE_MAX ? rest.len : at + strlen("projects/"), rest.len);
    struct str project = str_cut(&rest, '/');
    return str_eq(project, gcp_client_project(provider->client)) ? STR("") : project;
}

bool gcp_makes_rules(const struct gcp_provider *provider)
{
    struct str firewall = param_text(provider->cluster->provider, "firewall");
    return !str_is(firewall, "none") && gcp_host_project(provider).len == 0;
}

bool gcp_is_private(const struct gcp_provider *provider)
{
    const struct param *given = param_get(provider->cluster->provider, PARAM_BOOL,
                                          "use_internal_ips");
    return given && given->boolean;
}

bool gcp_uses_tunnel(const struct gcp_provider *provider)
{
    struct str command = param_text(provider->cluster->auth, "ssh_proxy_command");
    return str_find(command, "start-iap-tunnel") != SIZE_MAX;
}

/* ---- the key ---- */

static enum gcp_edit prepare_edit_key(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    if (!gcp_owns(provider, operation->record) || !gcp_has_lease(provider) ||
        !host_record_is_held(operation->record, provider->epoch, operation->now)) {
        gcp_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                   "this process does not hold the cluster's lease");
        return GCP_KEEP;
    }
    if (str_eq(host_record_text(operation->record, "key"), operation->key)) {
        return GCP_KEEP;
    }
    json_object_set_new(operation->record, "key", json_string(operation->key.ptr));
    return GCP_WRITE;
}

static void prepare_on_key(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    if (gcp_is_fine(operation) && operation->record && provider->uid.len == 0) {
        gcp_adopt(&provider->base, host_record_text(operation->record, "uid"));
    }
    if (gcp_is_fine(operation)) {
        provider->key = arena_str(&provider->arena, host_record_text(operation->record, "key"));
    }
    gcp_answer_things(operation);
}

/* ---- rules ---- */

static const json_t *prepare_find(const struct gcp_operation *operation, enum rule rule,
                                  struct arena *arena)
{
    struct str name = rule_name(operation->provider, rule, arena);
    for (size_t i = 0; i < json_array_size(operation->items); i++) {
        const json_t *item = json_array_get(operation->items, i);
        if (str_eq(host_record_text(item, "name"), name)) {
            return item;
        }
    }
    return NULL;
}

static json_t *prepare_ranges(const struct gcp_operation *operation, const json_t *there,
                              bool *ret_is_changed)
{
    json_t *ranges = json_deep_copy(json_object_get(there, "sourceRanges"));
    ranges = ranges ? ranges : json_array();
    *ret_is_changed = false;
    for (size_t i = 0; i < operation->range_count; i++) {
        bool has = false;
        for (size_t k = 0; k < json_array_size(ranges); k++) {
            const char *text = json_string_value(json_array_get(ranges, k));
            has = has || (text && str_is(operation->ranges[i], text));
        }
        if (!has) {
            json_array_append_new(ranges, json_string(operation->ranges[i].ptr));
            *ret_is_changed = true;
        }
    }
    return ranges;
}

static json_t *prepare_rule_body(struct gcp_operation *operation, enum rule rule)
{
    const struct gcp_provider *provider = operation->provider;
    struct arena *arena = &operation->arena;
    json_t *body = json_object();
    struct str tag = gcp_network_tag(provider, arena);
    bool is_changed;
    json_put_text(body, "name", rule_name(provider, rule, arena));
    json_put_text(body, "description",
                  gcp_rule_description(provider->cluster->name, provider->uid, arena));
    json_put_text(body, "network",
                  provider->network.len > 0 ? provider->network
                                            : param_text(gcp_interface(provider), "network"));
    json_object_set_new(body, "targetTags", json_pack("[s]", tag.ptr));
    if (rule == RULE_INSIDE) {
        json_object_set_new(body, "sourceTags", json_pack("[s]", tag.ptr));
        json_object_set_new(body, "allowed", json_pack("[{s:s}]", "IPProtocol", "all"));
    } else {
        json_object_set_new(body, "sourceRanges", prepare_ranges(operation, NULL, &is_changed));
        json_object_set_new(body, "allowed",
                            json_pack("[{s:s, s:[s]}]", "IPProtocol", "tcp", "ports", "22"));
    }
    return body;
}

static void prepare_on_made(void *context, const struct gcp_reply *reply);

/* A rule of a new cluster. Instances are launched as soon as Google has accepted it; host_key()
 * waits for the end of its operation, before anything connects to them. */
struct new_rule {
    struct gcp_provider *provider;
    struct gcp_operation *operation; /* NULL: accepted */
};

static void new_rule_on_accepted(void *context)
{
    struct new_rule *rule = context;
    struct gcp_operation *operation = rule->operation;
    rule->operation = NULL;
    rule->provider->rules_pending++;
    prepare_on_made(operation, &(struct gcp_reply){.is_ok = true});
}

static void new_rule_on_done(void *context, const struct gcp_reply *reply)
{
    const struct new_rule *rule = context;
    struct gcp_provider *provider = rule->provider;
    if (rule->operation) {
        prepare_on_made(rule->operation, reply);
        return;
    }
    provider->rules_pending--;
    if (!reply->is_ok) {
        answer_fail(&provider->rules, reply->failure.outcome, reply->err.kind, "%s",
                    reply->err.text);
    }
}

static void prepare_make(struct gcp_operation *operation, enum rule rule, bool is_new)
{
    struct gcp_provider *provider = operation->provider;
    struct new_rule *made = ARENA_NEW(&provider->arena, struct new_rule);
    json_t *body = prepare_rule_body(operation, rule);
    *made = (struct new_rule){provider, operation};
    gcp_call_start(provider->client,
                   &(struct gcp_request){.name = "firewalls.insert",
                                         .method = "POST",
                                         .path = STR("global/firewalls"),
                                         .body = body,
                                         .creates = true,
                                         .waits = true,
                                         .deadline_ms = 120 * 1000,
                                         .accepted = is_new ? new_rule_on_accepted : NULL,
                                         .done = new_rule_on_done,
                                         .context = made});
    json_decref(body);
}

/* Adds this machine's address to the ssh rule; true if it was missing. */
static bool prepare_admits(struct gcp_operation *operation, const json_t *rule, gcp_done_fn *done)
{
    bool is_changed;
    json_t *ranges = prepare_ranges(operation, rule, &is_changed);
    if (!is_changed) {
        json_decref(ranges);
        return false;
    }
    /* Google's discovery document requires the name in the body of a patch, too. */
    struct str name = rule_name(operation->provider, RULE_SSH, &operation->arena);
    json_t *body = json_pack("{s:s, s:o}", "name", name.ptr, "sourceRanges", ranges);
    gcp_call_start(
        operation->provider->client,
        &(struct gcp_request){
            .name = "firewalls.patch",
            .method = "PATCH",
            .path = arena_printf(&operation->arena, "global/firewalls/%.*s", STR_ARG(name)),
            .body = body,
            .waits = true,
            .deadline_ms = 120 * 1000,
            .done = done,
            .context = operation});
    json_decref(body);
    return true;
}

static bool prepare_is_ours(struct gcp_operation *operation, const json_t *rule)
{
    const struct gcp_provider *provider = operation->provider;
    struct str uid = arena_printf(&operation->arena, TAG_CLUSTER_UID "=%.*s",
                                  STR_ARG(provider->uid));
    return str_ends(host_record_text(rule, "description"), uid.ptr) ||
           gcp_failed(operation, OUTCOME_INVALID, ERR_EXISTS,
                      "the firewall rule %.*s is not this cluster's: delete or rename it",
                      STR_ARG(host_record_text(rule, "name")));
}

static void prepare_finish(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    for (enum rule rule = RULE_INSIDE; rule < RULE_COUNT && gcp_makes_rules(provider); rule++) {
        gcp_add_thing(operation, "firewall rule", rule_name(provider, rule, &operation->arena), "",
                      false);
    }
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
        return;
    }
    if (operation->is_look) {
        prepare_on_key(operation); /* the record was read first */
    } else if (str_eq(provider->key, operation->key) && gcp_has_lease(provider)) {
        gcp_answer_things(operation); /* it came into the record with the lease */
    } else {
        gcp_edit_record(operation, prepare_edit_key, prepare_on_key);
    }
}

static void prepare_look(struct gcp_operation *operation);

static void prepare_on_made(void *context, const struct gcp_reply *reply)
{
    struct gcp_operation *operation = context;
    if (!reply->is_ok && reply->failure.outcome == OUTCOME_MISMATCH) {
        operation->looks_again = true; /* made a moment ago, perhaps by a try without a reply */
    } else if (!reply->is_ok) {
        gcp_fail_with(operation, reply);
    }
    if (--operation->pending > 0) {
        return;
    }
    if (gcp_is_fine(operation) && operation->looks_again) {
        operation->looks_again = false;
        gcp_later(operation, AGAIN_MS, prepare_look);
        return;
    }
    prepare_finish(operation);
}

/* Makes what is missing, all at once. */
static void prepare_make_missing(struct gcp_operation *operation, bool is_new)
{
    const struct gcp_provider *provider = operation->provider;
    const json_t *there[RULE_COUNT];
    for (enum rule rule = RULE_INSIDE; rule < RULE_COUNT && gcp_is_fine(operation); rule++) {
        there[rule] = prepare_find(operation, rule, &operation->arena);
        if (there[rule]) {
            prepare_is_ours(operation, there[rule]);
        } else if (operation->is_look) {
            gcp_failed(operation, OUTCOME_INVALID, ERR_NOT_FOUND,
                       "the cluster's firewall rule %.*s is missing: run `shoal up` again",
                       STR_ARG(rule_name(provider, rule, &operation->arena)));
        }
    }
    if (!gcp_is_fine(operation)) {
        prepare_finish(operation);
        return;
    }
    for (enum rule rule = RULE_INSIDE; rule < RULE_COUNT; rule++) {
        if (!there[rule]) {
            prepare_make(operation, rule, is_new);
            operation->pending++;
        } else if (rule == RULE_SSH) {
            operation->pending += prepare_admits(operation, there[rule], prepare_on_made);
        }
    }
    if (operation->pending == 0) {
        prepare_finish(operation);
    }
}

static void admit_on_rules(struct gcp_operation *operation);

static void prepare_on_rules(struct gcp_operation *operation)
{
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
    } else if (operation->is_admit) {
        admit_on_rules(operation);
    } else {
        prepare_make_missing(operation, false);
    }
}

static void prepare_look(struct gcp_operation *operation)
{
    struct str filter = arena_printf(
        &operation->arena, "name eq %.*s-.*",
        STR_ARG(gcp_network_tag(operation->provider, &operation->arena)));
    gcp_read_items(operation, "firewalls.list",
                   arena_printf(&operation->arena, "global/firewalls?filter=%.*s",
                                STR_ARG(gcp_encoded(operation, filter))),
                   NULL, prepare_on_rules);
}

/* With a new uid there are no rules to find. A subnetwork alone does not say which network it is
 * of: Google would put the rules into the network "default". */
static void prepare_begin(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    struct str subnet = param_text(gcp_interface(provider), "subnetwork");
    if (!operation->is_admit && subnet.len > 0 && provider->network.len == 0 &&
        param_text(gcp_interface(provider), "network").len == 0) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                   "the network of subnetwork %.*s cannot be read: write `network`, too",
                   STR_ARG(str_sub(subnet, 0, 200)));
        gcp_answer_things(operation);
    } else if (!provider->is_new || operation->is_admit) {
        prepare_look(operation);
    } else {
        provider->is_new = false;
        json_decref(operation->items);
        operation->items = json_array();
        provider->rules = (struct provider_answer){.outcome = OUTCOME_DONE};
        prepare_make_missing(operation, true);
    }
}

/* ---- source range for ssh ---- */

static void prepare_add_range(struct gcp_operation *operation, struct str cidr)
{
    if (!operation->ranges) {
        operation->ranges = ARENA_ARRAY(&operation->arena, RANGES_MAX, struct str);
    }
    if (operation->range_count < RANGES_MAX) {
        operation->ranges[operation->range_count++] = cidr;
    }
}

/* provider.ssh_from: one range, or a list; false if one is invalid. */
static bool prepare_add_named(struct gcp_operation *operation)
{
    const struct param *provider = operation->provider->cluster->provider;
    const struct param *given = provider ? param_find(provider, "ssh_from") : NULL;
    const struct param *item = given && given->kind == PARAM_LIST ? given->first : given;
    while (item) {
        struct str cidr;
        if (item->kind != PARAM_TEXT || !cidr_read(item->text, &operation->arena, &cidr)) {
            return gcp_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                              "ssh_from: \"%.*s\" is not an IP address or CIDR range",
                              STR_ARG(str_sub(item->text, 0, 100)));
        }
        prepare_add_range(operation, cidr);
        item = given->kind == PARAM_LIST ? item->next : NULL;
    }
    return true;
}

static const char *prepare_caller_url(const struct gcp_operation *operation)
{
    const char *url = variable_get(operation->provider->setup.environ, "SHOAL_CALLER_URL");
    return url && *url ? url : CALLER_URL;
}

static void prepare_on_caller(void *context, const struct http_reply *reply)
{
    struct gcp_operation *operation = context;
    struct str cidr;
    operation->http = NULL;
    if (reply->outcome == HTTP_REPLIED && reply->status == 200 &&
        str_find_char(reply->body, '/') == SIZE_MAX &&
        cidr_read(reply->body, &operation->arena, &cidr)) {
        prepare_add_range(operation, cidr);
        prepare_begin(operation);
        return;
    }
    gcp_failed(operation, OUTCOME_INVALID, ERR_UNAVAILABLE,
               "cannot get this machine's public address from %s (%s); set it: "
               "metadata.shoal.ssh_from: [\"198.51.100.7/32\"]",
               prepare_caller_url(operation),
               reply->outcome == HTTP_REPLIED ? "the response is not an IP address"
                                              : reply->err.text);
    gcp_answer_things(operation);
}

static void prepare_ask_caller(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    if (!gcp_makes_rules(provider)) {
        prepare_finish(operation);
        return;
    }
    if (!prepare_add_named(operation)) {
        gcp_answer_things(operation);
        return;
    }
    if (operation->range_count == 0 && gcp_uses_tunnel(provider)) {
        prepare_add_range(operation, STR(GCP_TUNNEL_RANGE));
    } else if (operation->range_count == 0 && gcp_is_private(provider)) {
        prepare_add_range(operation, STR("10.0.0.0/8")); /* all of Google's own subnets */
        prepare_add_range(operation, STR("172.16.0.0/12"));
        prepare_add_range(operation, STR("192.168.0.0/16"));
    }
    if (operation->range_count > 0) {
        prepare_begin(operation);
        return;
    }
    operation->http = http_start(provider->setup.http,
                                 &(struct http_request){.url = prepare_caller_url(operation),
                                                        .total_ms = CALLER_MS,
                                                        .body_max = CALLER_BYTES_MAX,
                                                        .done = prepare_on_caller,
                                                        .context = operation});
}

/* ---- the operations ---- */

/* A head that has not taken the lease learns the uid first. */
static void prepare_on_uid(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    if (gcp_is_fine(operation) && provider->uid.len == 0 && operation->record) {
        gcp_adopt(&provider->base, host_record_text(operation->record, "uid"));
    }
    if (gcp_is_fine(operation) && provider->uid.len == 0) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_NOT_FOUND,
                   "the project has no record of this cluster: run `shoal up` again");
    }
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
    } else if (gcp_makes_rules(provider)) {
        prepare_look(operation);
    } else {
        prepare_finish(operation);
    }
}

void gcp_prepare(struct provider *base, struct str key, provider_resources_fn *done, void *context)
{
    struct gcp_provider *provider = gcp_of(base);
    struct gcp_operation *operation = gcp_begin(provider, context);
    operation->resources = done;
    operation->is_look = key.len == 0;
    operation->key = arena_str(&operation->arena, str_trim(key));
    if (operation->is_look) {
        gcp_read_record(operation, prepare_on_uid);
    } else if (!gcp_has_lease(provider)) {
        gcp_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                   "this process does not hold the cluster's lease");
        gcp_later(operation, 0, gcp_answer_things);
    } else {
        gcp_later(operation, 0, prepare_ask_caller);
    }
}

static void admit_on_patched(void *context, const struct gcp_reply *reply)
{
    struct gcp_operation *operation = context;
    if (!reply->is_ok) {
        gcp_fail_with(operation, reply);
    }
    for (size_t i = 0; i < operation->range_count; i++) {
        gcp_add_thing(operation, "address", operation->ranges[i], "new", false);
    }
    gcp_answer_things(operation);
}

/* Only the cluster's own rule, and only if it is there. */
static void admit_on_rules(struct gcp_operation *operation)
{
    const json_t *rule = prepare_find(operation, RULE_SSH, &operation->arena);
    if (!rule || !prepare_is_ours(operation, rule) ||
        !prepare_admits(operation, rule, admit_on_patched)) {
        gcp_answer_things(operation);
    }
}

static void admit_on_uid(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    const struct param *settings = provider->cluster->provider;
    if (gcp_is_fine(operation) && provider->uid.len == 0 && operation->record) {
        gcp_adopt(&provider->base, host_record_text(operation->record, "uid"));
    }
    if (!gcp_is_fine(operation) || provider->uid.len == 0 || gcp_is_private(provider) ||
        !gcp_makes_rules(provider) || (settings && param_find(settings, "ssh_from"))) {
        gcp_answer_things(operation);
        return;
    }
    operation->is_admit = true;
    prepare_ask_caller(operation);
}

void gcp_admit(struct provider *base, provider_resources_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->resources = done;
    gcp_read_record(operation, admit_on_uid);
}
