/* host_record.c: reads and changes the records of hosts. */
#include "provider/host_record.h"

#include "io/json_line.h"

#include <string.h>

enum {
    ENDED_MAX = 100,
    PAUSE_FIRST_S = 30,
    PAUSE_MOST_S = 600,
    TRIES_MAX = 100,
    /* Epochs of a record that was made again start at the seconds since 2025, which is above every
     * earlier epoch. */
    EPOCHS_FROM_S = 1735689600,
};

/* ---- fields ---- */

struct str host_record_text(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

int64_t host_record_number(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    return json_is_integer(value) ? json_integer_value(value) : 0;
}

static json_t *host_record_child(json_t *record, const char *name, bool is_list)
{
    json_t *child = json_object_get(record, name);
    if (!child || (is_list ? !json_is_array(child) : !json_is_object(child))) {
        child = is_list ? json_array() : json_object();
        json_object_set_new(record, name, child);
    }
    return child;
}

json_t *host_record_new(struct str cluster, struct str uid, struct str head, struct str by)
{
    json_t *record = json_object();
    json_put_text(record, "cluster", cluster);
    json_put_text(record, "uid", uid);
    json_put_text(record, "head", head);
    json_put_text(record, "by", by);
    return record;
}

bool host_record_is_of(const json_t *record, struct str cluster, struct str uid)
{
    return record && str_eq(host_record_text(record, "cluster"), cluster) &&
           (uid.len == 0 || str_eq(host_record_text(record, "uid"), uid));
}

void host_record_tell_user(struct str host, const json_t *record, struct str owner, struct err *err)
{
    struct str cluster = host_record_text(record, "cluster");
    struct str by = host_record_text(record, "by");
    struct str head = host_record_text(record, "head");
    err_set(
        err, ERR_EXISTS,
        "%.*s is used by cluster %.*s (uid %.*s, head %.*s%s%.*s%s%.*s). To free it, run shoal "
        "down with the file of that cluster; if that cluster no longer exists, delete " HOST_FOLDER
        " on %.*s",
        STR_ARG(str_sub(host, 0, 60)), STR_ARG(str_sub(cluster, 0, 60)),
        STR_ARG(str_sub(host_record_text(record, "uid"), 0, 8)), STR_ARG(str_sub(head, 0, 60)),
        by.len > 0 ? ", started by " : "", STR_ARG(str_sub(by, 0, 80)),
        owner.len > 0 ? ", user " : "", STR_ARG(str_sub(owner, 0, 40)),
        STR_ARG(str_sub(host, 0, 60)));
    for (char *at = err->text; *at; at++) { /* another user may have written it */
        *at = (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at;
    }
}

/* ---- the lease ---- */

static json_t *lease_of(const json_t *record)
{
    json_t *lease = json_object_get(record, "lease");
    return json_is_object(lease) ? lease : NULL;
}

static void set_number(json_t *object, const char *name, int64_t value)
{
    json_object_set_new(object, name, json_integer(value));
}

static void host_record_set_text(json_t *object, const char *name, struct str value)
{
    json_object_del(object, name);
    json_put_text(object, name, value);
}

struct cluster_lease host_record_lease(const json_t *record)
{
    const json_t *lease = lease_of(record);
    return (struct cluster_lease){
        .uid = host_record_text(record, "uid"),
        .epoch = (uint64_t)host_record_number(lease, "epoch"),
        .holder = host_record_text(lease, "holder"),
        .since = host_record_number(lease, "since"),
        .until = host_record_number(lease, "until"),
        .lease_object = host_record_text(record, "head"),
    };
}

bool host_record_is_held(const json_t *record, uint64_t epoch, int64_t now)
{
    const json_t *lease = lease_of(record);
    return lease && (uint64_t)host_record_number(lease, "epoch") == epoch &&
           now < host_record_number(lease, "until");
}

static int64_t first_epoch(const struct lease_change *change)
{
    int64_t known = (int64_t)change->request->known_epoch;
    int64_t base = change->keeps_uid ? change->now - EPOCHS_FROM_S : 0;
    return known > base ? known : base;
}

enum outcome host_record_take(json_t **record, const struct lease_change *change, struct err *err)
{
    const struct take_request *request = change->request;
    json_t *lease = lease_of(*record);
    int64_t epoch = host_record_number(lease, "epoch");
    bool is_mine = lease && str_eq(host_record_text(lease, "nonce"), change->nonce);
    bool is_broken = lease && request->from != 0 && (uint64_t)epoch == request->from;
    if (lease && !is_mine && !is_broken &&
        change->now < host_record_number(lease, "until") + LEASE_GRACE_S) {
        struct str holder = host_record_text(lease, "holder");
        err_set(err, ERR_EXISTS, "held by %.*s", STR_ARG(str_sub(holder, 0, 300)));
        return OUTCOME_MISMATCH;
    }
    if (!*record) {
        *record = host_record_new(change->cluster, change->uid, change->head, request->holder);
    }
    if (!lease) {
        lease = host_record_child(*record, "lease", false);
        epoch = first_epoch(change);
    }
    int64_t known = (int64_t)request->known_epoch;
    set_number(lease, "epoch", (epoch > known ? epoch : known) + 1);
    set_number(lease, "since", change->now);
    set_number(lease, "until", change->now + request->lease_ms / 1000);
    host_record_set_text(lease, "holder", request->holder);
    host_record_set_text(lease, "nonce", change->nonce);
    return OUTCOME_DONE;
}

enum outcome host_record_renew(json_t *record, uint64_t epoch, int64_t lease_ms, int64_t now,
                               struct err *err)
{
    json_t *lease = lease_of(record);
    if (!lease) {
        err_set(err, ERR_NOT_FOUND, "the cluster's record was deleted");
        return OUTCOME_MISMATCH;
    }
    if ((uint64_t)host_record_number(lease, "epoch") != epoch) {
        struct str holder = host_record_text(lease, "holder");
        err_set(err, ERR_EXISTS, "the lease was taken by %.*s", STR_ARG(str_sub(holder, 0, 300)));
        return OUTCOME_MISMATCH;
    }
    if (now >= host_record_number(lease, "until")) {
        err_set(err, ERR_TIMEOUT, "the lease ran out before it was renewed");
        return OUTCOME_MISMATCH;
    }
    set_number(lease, "until", now + lease_ms / 1000);
    return OUTCOME_DONE;
}

void host_record_release(json_t *record, uint64_t epoch)
{
    json_t *lease = lease_of(record);
    if (lease && (uint64_t)host_record_number(lease, "epoch") == epoch) {
        set_number(lease, "until", 0);
        json_object_del(lease, "nonce");
    }
}

/* ---- nodes ---- */

json_t *host_record_nodes(json_t *record)
{
    return host_record_child(record, "nodes", true);
}

json_t *host_record_node(const json_t *record, struct str id)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(record, "nodes"), i, node)
    {
        if (str_eq(host_record_text(node, "id"), id)) {
            return node;
        }
    }
    return NULL;
}

bool host_record_node_is(const json_t *node, const char *state)
{
    return str_is(host_record_text(node, "state"), state);
}

json_t *host_record_node_on(const json_t *record, struct str host)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(record, "nodes"), i, node)
    {
        if (str_eq(host_record_text(node, "host"), host) &&
            !host_record_node_is(node, NODE_ENDED)) {
            return node;
        }
    }
    return NULL;
}

void host_record_set_state(json_t *node, const char *state, struct str why, int64_t now)
{
    host_record_set_text(node, "state", str_from(state));
    host_record_set_text(node, "why", why);
    set_number(node, "changed", now);
}

void host_record_tag(json_t *node, const struct machine_tag *tags, size_t count)
{
    json_t *all = host_record_child(node, "tags", false);
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA struct arena arena = ARENA_HEAP;
        host_record_set_text(all, arena_str(&arena, tags[i].key).ptr, tags[i].value);
    }
}

void host_record_forget_ended(json_t *record)
{
    json_t *nodes = host_record_nodes(record);
    size_t ended = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        ended += host_record_node_is(json_array_get(nodes, i), NODE_ENDED);
    }
    for (size_t i = 0; i < json_array_size(nodes) && ended > ENDED_MAX;) {
        if (host_record_node_is(json_array_get(nodes, i), NODE_ENDED)) {
            json_array_remove(nodes, i);
            ended--;
        } else {
            i++;
        }
    }
}

/* ---- unused hosts ---- */

const json_t *host_record_unused(const json_t *record, struct str host)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const char *key = arena_str(&arena, host).ptr;
    return json_object_get(json_object_get(record, "unused"), key);
}

bool host_record_is_unclean(const json_t *record, struct str host)
{
    return json_is_true(json_object_get(host_record_unused(record, host), "unclean"));
}

void host_record_set_unused(json_t *record, struct str host, struct str why, int64_t now,
                            bool is_unclean)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *all = host_record_child(record, "unused", false);
    json_t *unused = host_record_child(all, arena_str(&arena, host).ptr, false);
    int64_t tries = host_record_number(unused, "tries");
    int64_t pause = tries < 5 ? (int64_t)PAUSE_FIRST_S << tries : PAUSE_MOST_S;
    if (tries == 0) {
        set_number(unused, "since", now);
    }
    set_number(unused, "tries", tries < TRIES_MAX ? tries + 1 : tries);
    set_number(unused, "until", now + (pause < PAUSE_MOST_S ? pause : PAUSE_MOST_S));
    host_record_set_text(unused, "why", why);
    if (is_unclean) {
        json_put_flag(unused, "unclean", true);
    }
}

void host_record_set_used(json_t *record, struct str host)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_object_del(json_object_get(record, "unused"), arena_str(&arena, host).ptr);
}

/* ---- launches ---- */

size_t host_record_count(const json_t *record, struct str token)
{
    size_t count = 0;
    size_t i;
    const json_t *node;
    json_array_foreach(json_object_get(record, "nodes"), i, node)
    {
        count += str_eq(host_record_text(node, "token"), token);
    }
    return count;
}

static bool is_free(const json_t *record, const struct host_choice *choice,
                    const struct launch_draft *draft, int64_t now)
{
    const json_t *unused = host_record_unused(record, choice->host);
    return choice->is_head == draft->is_head && !host_record_node_on(record, choice->host) &&
           (choice->is_head || !unused || host_record_number(unused, "until") <= now);
}

static void add_node(json_t *record, const struct launch_draft *draft,
                     const struct host_choice *choice, int64_t now)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *node = json_object();
    json_put_text(node, "id",
                  arena_printf(&arena, "%.*s@%.*s", STR_ARG(choice->host), STR_ARG(draft->launch)));
    json_put_text(node, "host", choice->host);
    json_put_text(node, "private_ip", choice->private_ip);
    json_put_text(node, "public_ip", choice->public_ip);
    json_put_text(node, "token", draft->token);
    json_put_text(node, "call", arena_printf(&arena, "%016llx", (unsigned long long)draft->call));
    set_number(node, "at", now);
    json_object_set_new(node, "tags", json_deep_copy(draft->tags));
    host_record_set_state(node, choice->is_head ? NODE_RUNNING : NODE_CLAIMING, STR(""), now);
    json_array_append_new(host_record_nodes(record), node);
}

static bool is_same_call(const json_t *record, const struct launch_draft *draft)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str call = arena_printf(&arena, "%016llx", (unsigned long long)draft->call);
    size_t i;
    const json_t *node;
    json_array_foreach(json_object_get(record, "nodes"), i, node)
    {
        if (str_eq(host_record_text(node, "token"), draft->token) &&
            !str_eq(host_record_text(node, "call"), call)) {
            return false;
        }
    }
    return true;
}

bool host_record_reserve(json_t *record, const struct launch_draft *draft,
                         const struct host_choice *hosts, size_t host_count, bool may_add,
                         int64_t now)
{
    size_t have = host_record_count(record, draft->token);
    bool adds = have == 0 || may_add;
    if (!is_same_call(record, draft)) {
        return false;
    }
    for (size_t i = 0; adds && i < host_count && have < (size_t)draft->count; i++) {
        if (is_free(record, &hosts[i], draft, now)) {
            add_node(record, draft, &hosts[i], now);
            have++;
        }
    }
    return true;
}

/* ---- for the interface ---- */

/* A node that is "ending" is running for callers: nothing ends it by itself after the process that
 * marked it was killed or the host did not answer, so it must be terminated again. */
static enum machine_state state_of(const json_t *node)
{
    bool is_running = host_record_node_is(node, NODE_RUNNING) ||
                      host_record_node_is(node, NODE_ENDING);
    return host_record_node_is(node, NODE_CLAIMING) ? MACHINE_PENDING
           : is_running                             ? MACHINE_RUNNING
                                                    : MACHINE_GONE;
}

struct machine host_record_machine(const json_t *node, struct arena *arena)
{
    json_t *all = json_object_get(node, "tags");
    struct machine_tag *tags = ARENA_ARRAY(arena, json_object_size(all), struct machine_tag);
    struct machine machine = {
        .id = host_record_text(node, "id"),
        .private_ip = host_record_text(node, "private_ip"),
        .public_ip = host_record_text(node, "public_ip"),
        .why = host_record_text(node, "why"),
        .token = host_record_text(node, "token"),
        .launched_at = host_record_number(node, "at"),
        .state = state_of(node),
        .market = MARKET_ON_DEMAND,
        .tags = tags,
    };
    const char *key;
    json_t *value;
    json_object_foreach(all, key, value)
    {
        if (json_is_string(value)) {
            tags[machine.tag_count++] = (struct machine_tag){
                str_from(key), {json_string_value(value), json_string_length(value)}};
        }
    }
    return machine;
}
