/*
 * down_decide.c: selects the cluster, decides about each instance, and decides when a listing
 * proves that nothing is left.
 */
#include "app/launch/down_decide.h"

#include "provider/machine_tags.h"

/* ---- which cluster ---- */

static bool was_seen(const struct ending_evidence *evidence, struct str uid)
{
    for (size_t i = 0; i < evidence->seen_count; i++) {
        if (str_eq(evidence->seen[i], uid)) {
            return true;
        }
    }
    return false;
}

enum ending_choice ending_choose(const struct ending_evidence *evidence, struct str *ret_uid)
{
    struct str uid = evidence->asked;
    if (uid.len == 0) {
        uid = evidence->lease;
    }
    if (uid.len == 0 && (evidence->seen_count == 0 || was_seen(evidence, evidence->journal))) {
        /* This machine launched it, even if the listing does not show it yet. */
        uid = evidence->journal;
    }
    if (uid.len == 0 && evidence->seen_count > 1) {
        return ENDING_SEVERAL;
    }
    if (uid.len == 0 && evidence->seen_count == 1) {
        uid = evidence->seen[0];
    }
    *ret_uid = uid;
    return uid.len > 0 ? ENDING_ONE : ENDING_NOTHING;
}

bool ending_is_foreign(const struct machine *machine)
{
    return machine_is_live(machine) && machine_tag_value(machine, TAG_CLUSTER_UID).len == 0;
}

/* ---- each instance ---- */

bool ending_keeps(const struct config *config, const struct machine *machine, int64_t *kept)
{
    struct str type = machine_tag_value(machine, "ray-user-node-type");
    if (machine_is_head(machine) || machine->state >= MACHINE_STOPPING) {
        return false;
    }
    for (size_t i = 0; i < config->node_type_count; i++) {
        if (str_eq(config->node_types[i].name, type)) {
            return kept[i] < config->node_types[i].min_workers && ++kept[i] > 0;
        }
    }
    return false;
}

bool ending_is_over(const struct ending_node *node, const struct ending_rules *rules)
{
    return node->state == MACHINE_GONE || (node->is_head && rules->is_workers_only) ||
           node->is_kept || (node->state == MACHINE_STOPPED && rules->keeps_stopped);
}

/* As Ray: a spot instance cannot be stopped, and neither can one that is still pending. */
enum ending_deed ending_deed(const struct ending_node *node, const struct ending_rules *rules,
                             int64_t now)
{
    bool is_stop = rules->keeps_stopped && node->market == MARKET_ON_DEMAND &&
                   node->state != MACHINE_PENDING;
    bool is_under_way = node->state == MACHINE_ENDING ||
                        (is_stop && node->state == MACHINE_STOPPING);
    bool was_asked = node->asked_at != INT64_MIN && now - node->asked_at < rules->again_ms;
    if (ending_is_over(node, rules) || node->is_refused || is_under_way || was_asked) {
        return ENDING_LEAVE;
    }
    return is_stop ? ENDING_STOP : ENDING_TERMINATE;
}

/* ---- the proof ---- */

int64_t ending_launch_trusted_at(const struct ending_launch *launch, size_t seen,
                                 const struct ending_times *times, int64_t now)
{
    /* After the clock was set back, wait no longer than for a launch made now. */
    int64_t from = launch->wall_ms < now ? launch->wall_ms : now;
    bool is_refused = launch->is_settled && launch->outcome != OUTCOME_DONE;
    bool is_all_seen = (int64_t)seen >= launch->count ||
                       (launch->is_settled && launch->known > 0 && seen >= launch->known);
    if (is_refused || is_all_seen) {
        return 0;
    }
    return from + times->horizon + (launch->is_settled ? 0 : times->call_timeout);
}

int64_t ending_others_trusted_at(enum ending_others others, int64_t until_ms,
                                 const struct ending_times *times, int64_t now)
{
    int64_t last = now;
    switch (others) {
    case OTHERS_NONE:
        return 0;
    case OTHERS_UNTIL:
        last = until_ms < now ? until_ms : now;
        break;
    case OTHERS_UNKNOWN:
        break;
    }
    return last + times->call_timeout + times->horizon;
}
