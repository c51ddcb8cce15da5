/* group_rules.c: reads rules from replies and files and compares them. */
#include "provider/aws/cluster/group_rules.h"

/* ---- reading ---- */

static void group_rules_add(struct group_rules *rules, struct group_rule rule, struct arena *arena)
{
    ARENA_PUSH(arena, rules->items, rules->count, rules->capacity) = rule;
}

static int64_t group_rules_port_of(struct str text)
{
    int64_t port;
    return str_to_i64(text, &port) ? port : -1;
}

/* The fields of a rule's sources in a reply and in a file. */
static const struct {
    enum rule_source kind;
    const char *reply_list, *reply_name;
    const char *file_list, *file_name;
} places[] = {
    {RULE_FROM_CIDR, "ipRanges", "cidrIp", "IpRanges", "CidrIp"},
    {RULE_FROM_CIDR6, "ipv6Ranges", "cidrIpv6", "Ipv6Ranges", "CidrIpv6"},
    {RULE_FROM_GROUP, "groups", "groupId", "UserIdGroupPairs", "GroupId"},
    {RULE_FROM_PREFIXES, "prefixListIds", "prefixListId", "PrefixListIds", "PrefixListId"},
};

void group_rules_read(const struct xml_element *group, struct group_rules *rules,
                      struct arena *arena)
{
    const struct xml_element *permissions = xml_child(group, "ipPermissions");
    const struct xml_element *item = permissions ? permissions->first : NULL;
    for (; item; item = item->next) {
        struct group_rule rule = {.protocol = xml_child_text(item, "ipProtocol"),
                                  .from = group_rules_port_of(xml_child_text(item, "fromPort")),
                                  .to = group_rules_port_of(xml_child_text(item, "toPort"))};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
            const struct xml_element *list = xml_child(item, places[i].reply_list);
            const struct xml_element *source = list ? list->first : NULL;
            for (; source; source = source->next) {
                rule.source_kind = places[i].kind;
                rule.source = xml_child_text(source, places[i].reply_name);
                rule.description = xml_child_text(source, "description");
                group_rules_add(rules, rule, arena);
            }
        }
    }
}

static int64_t number_in(const struct param *map, const char *name)
{
    const struct param *found = map->kind == PARAM_MAP ? param_find(map, name) : NULL;
    return !found                        ? -1
           : found->kind == PARAM_NUMBER ? found->number
                                         : group_rules_port_of(found->text);
}

/* A file may have -1 as a number. */
static struct str protocol_in(const struct param *map, struct arena *arena)
{
    const struct param *found = map->kind == PARAM_MAP ? param_find(map, "IpProtocol") : NULL;
    return found && found->kind == PARAM_NUMBER
               ? arena_printf(arena, "%lld", (long long)found->number)
               : param_text(map, "IpProtocol");
}

void group_rules_from_file(const struct param *permissions, struct group_rules *rules,
                           struct arena *arena)
{
    const struct param *item = permissions && permissions->kind == PARAM_LIST ? permissions->first
                                                                              : NULL;
    for (; item; item = item->next) {
        struct group_rule rule = {.protocol = protocol_in(item, arena),
                                  .from = number_in(item, "FromPort"),
                                  .to = number_in(item, "ToPort")};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
            const struct param *list = item->kind == PARAM_MAP
                                           ? param_find(item, places[i].file_list)
                                           : NULL;
            const struct param *source = list && list->kind == PARAM_LIST ? list->first : NULL;
            for (; source; source = source->next) {
                rule.source_kind = places[i].kind;
                rule.source = param_text(source, places[i].file_name);
                rule.description = param_text(source, "Description");
                rule.raw = source;
                group_rules_add(rules, rule, arena);
            }
        }
    }
}

void group_rules_add_caller(struct group_rules *rules, struct str cidr, struct arena *arena)
{
    bool is_6 = str_find_char(cidr, ':') != SIZE_MAX;
    group_rules_add(rules,
                    (struct group_rule){.protocol = STR("tcp"),
                                        .from = 22,
                                        .to = 22,
                                        .source_kind = is_6 ? RULE_FROM_CIDR6 : RULE_FROM_CIDR,
                                        .source = cidr,
                                        .description = STR(RULE_MARK ": ssh")},
                    arena);
}

void group_rules_add_members(struct group_rules *rules, struct str group, struct arena *arena)
{
    group_rules_add(rules,
                    (struct group_rule){.protocol = STR("-1"),
                                        .from = -1,
                                        .to = -1,
                                        .source_kind = RULE_FROM_GROUP,
                                        .source = group,
                                        .description = STR("shoal: members")},
                    arena);
}

/* ---- comparing ---- */

static struct str plain_protocol(struct str protocol)
{
    return str_is(protocol, "6")     ? STR("tcp")
           : str_is(protocol, "17")  ? STR("udp")
           : str_is(protocol, "1")   ? STR("icmp")
           : str_is(protocol, "all") ? STR("-1")
                                     : protocol;
}

static bool group_rules_is_same(const struct group_rule *a, const struct group_rule *b)
{
    struct str protocol = plain_protocol(a->protocol);
    /* With protocol "any", ports are meaningless and AWS does not return them. */
    bool same_ports = str_is(protocol, "-1") || (a->from == b->from && a->to == b->to);
    return str_eq(protocol, plain_protocol(b->protocol)) && same_ports &&
           a->source_kind == b->source_kind && a->source.len > 0 && str_eq(a->source, b->source);
}

static bool group_rules_has(const struct group_rules *rules, const struct group_rule *rule)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (group_rules_is_same(&rules->items[i], rule)) {
            return true;
        }
    }
    return false;
}

struct group_rules group_rules_missing(const struct group_rules *wanted,
                                       const struct group_rules *there, struct arena *arena)
{
    struct group_rules missing = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        if (!group_rules_has(there, &wanted->items[i]) &&
            !group_rules_has(&missing, &wanted->items[i])) {
            group_rules_add(&missing, wanted->items[i], arena);
        }
    }
    return missing;
}

struct group_rules group_rules_stale(const struct group_rules *there,
                                     const struct group_rules *wanted, struct arena *arena)
{
    struct group_rules stale = {0};
    for (size_t i = 0; i < there->count; i++) {
        if (str_starts(there->items[i].description, RULE_MARK) &&
            !group_rules_has(wanted, &there->items[i])) {
            group_rules_add(&stale, there->items[i], arena);
        }
    }
    return stale;
}

/* ---- writing ---- */

struct param *group_rule_input(const struct group_rule *rule, struct str group, struct arena *arena)
{
    struct param *input = param_new_map(arena);
    param_add_text(input, "GroupId", group, arena);
    struct param *permission = param_add_map(param_add_list(input, "IpPermissions", arena), "",
                                             arena);
    param_add_text(permission, "IpProtocol", rule->protocol, arena);
    if (!str_is(plain_protocol(rule->protocol), "-1")) {
        param_add_number(permission, "FromPort", rule->from, arena);
        param_add_number(permission, "ToPort", rule->to, arena);
    }
    struct param *list = param_add_list(permission, places[rule->source_kind].file_list, arena);
    struct param *source = param_add_map(list, "", arena);
    if (rule->raw && rule->raw->kind == PARAM_MAP) {
        source->first = rule->raw->first;
        source->last = rule->raw->last;
        return input;
    }
    param_add_text(source, places[rule->source_kind].file_name, rule->source, arena);
    if (rule->description.len > 0) {
        param_add_text(source, "Description", rule->description, arena);
    }
    return input;
}
