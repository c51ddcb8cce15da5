/* account.c: assigns found resources to clusters, by uid if they have one and otherwise by name. */
#include "provider/account.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/* One cluster while its resources are counted and then assigned. */
struct pile {
    struct account_cluster cluster;
    struct account_machine *machines;
    struct account_volume *volumes;
    struct account_thing *things;
    size_t dealt_machines, dealt_volumes, dealt_things;
};

struct sorter {
    const struct account_finds *finds;
    struct arena *arena;
    struct pile *piles;
    size_t count, capacity;
    struct table by_owner;   /* key: region and uid, or region and name */
    struct table by_machine; /* indexes into finds->machines */
    size_t *machine_piles;   /* cluster of each find; SIZE_MAX: none */
    size_t *volume_piles;
    size_t *thing_piles;
};

/* ---- found resources ---- */

void account_add_machine(struct account_basket *basket, const struct account_machine *machine)
{
    struct account_finds *finds = &basket->finds;
    ARENA_PUSH(basket->arena, finds->machines, finds->machine_count,
               basket->machine_capacity) = *machine;
}

void account_add_volume(struct account_basket *basket, const struct account_volume *volume)
{
    struct account_finds *finds = &basket->finds;
    ARENA_PUSH(basket->arena, finds->volumes, finds->volume_count,
               basket->volume_capacity) = *volume;
}

void account_add_thing(struct account_basket *basket, const struct account_thing *thing)
{
    struct account_finds *finds = &basket->finds;
    ARENA_PUSH(basket->arena, finds->things, finds->thing_count, basket->thing_capacity) = *thing;
}

/* ---- ownership ---- */

static bool is_same_owner(const struct account_owner *a, const struct account_owner *b)
{
    bool by_uid = a->uid.len > 0 || b->uid.len > 0;
    return str_eq(a->region, b->region) && str_eq(a->uid, b->uid) &&
           (by_uid || str_eq(a->name, b->name));
}

struct owner_sought {
    const struct sorter *sorter;
    const struct account_owner *owner;
};

static bool owner_matches(const void *context, size_t position)
{
    const struct owner_sought *sought = context;
    return is_same_owner(&sought->sorter->piles[position].cluster.owner, sought->owner);
}

static uint64_t owner_hash(const struct account_owner *owner)
{
    uint64_t start = str_hash_from(str_hash(owner->region), owner->uid);
    return owner->uid.len > 0 ? start : str_hash_from(start, owner->name);
}

/* The pile of an owner, created if necessary; SIZE_MAX if there is no owner. */
static size_t pile_of(struct sorter *sorter, const struct account_owner *owner)
{
    struct owner_sought sought = {sorter, owner};
    if (owner->uid.len == 0 && owner->name.len == 0) {
        return SIZE_MAX;
    }
    uint64_t hash = owner_hash(owner);
    size_t position = table_find(&sorter->by_owner, hash, owner_matches, &sought);
    if (position == TABLE_NONE) {
        ARENA_GROW(sorter->arena, sorter->piles, sorter->count, sorter->capacity);
        position = sorter->count++;
        sorter->piles[position] = (struct pile){
            .cluster = {.owner = *owner, .since = ACCOUNT_NO_TIME}};
        table_add(&sorter->by_owner, sorter->arena, hash, position);
    }
    struct account_owner *own = &sorter->piles[position].cluster.owner;
    own->name = own->name.len > 0 ? own->name : owner->name;
    return position;
}

static bool is_blind(const struct account_finds *finds, struct str region)
{
    for (size_t i = 0; i < finds->blind_count; i++) {
        if (str_eq(finds->blind_regions[i], region)) {
            return true;
        }
    }
    return region.len == 0 && (finds->blind_count > 0 || !finds->sees_everywhere);
}

/* A resource without a region belongs to the cluster with its uid, in any region. */
static size_t pile_of_thing(struct sorter *sorter, const struct account_owner *owner)
{
    for (size_t i = 0; owner->region.len == 0 && owner->uid.len > 0 && i < sorter->count; i++) {
        if (str_eq(sorter->piles[i].cluster.owner.uid, owner->uid)) {
            return i;
        }
    }
    return is_blind(sorter->finds, owner->region) ? SIZE_MAX : pile_of(sorter, owner);
}

struct machine_sought {
    const struct sorter *sorter;
    struct str id;
};

static bool machine_matches(const void *context, size_t position)
{
    const struct machine_sought *sought = context;
    return str_eq(sought->sorter->finds->machines[position].id, sought->id);
}

/* A volume belongs to its machine's cluster; an unattached one is assigned by its own tags. */
static size_t pile_of_volume(struct sorter *sorter, const struct account_volume *volume)
{
    struct machine_sought sought = {sorter, volume->machine};
    size_t position = volume->machine.len == 0
                          ? TABLE_NONE
                          : table_find(&sorter->by_machine, str_hash(volume->machine),
                                       machine_matches, &sought);
    if (position != TABLE_NONE) {
        return sorter->machine_piles[position];
    }
    if (volume->machine.len > 0) { /* an instance that is not of a cluster uses it */
        return SIZE_MAX;
    }
    bool is_ours = !is_blind(sorter->finds, volume->owner.region);
    return is_ours ? pile_of(sorter, &volume->owner) : SIZE_MAX;
}

/* ---- counting, then assigning ---- */

static void assign(struct sorter *sorter)
{
    const struct account_finds *finds = sorter->finds;
    for (size_t i = 0; i < finds->machine_count; i++) {
        const struct account_machine *machine = &finds->machines[i];
        bool is_gone = machine->state == MACHINE_GONE;
        size_t pile = is_gone ? SIZE_MAX : pile_of(sorter, &machine->owner);
        sorter->machine_piles[i] = pile;
        if (pile != SIZE_MAX) {
            sorter->piles[pile].cluster.machine_count++;
            table_add(&sorter->by_machine, sorter->arena, str_hash(machine->id), i);
        }
    }
    for (size_t i = 0; i < finds->volume_count; i++) {
        size_t pile = pile_of_volume(sorter, &finds->volumes[i]);
        sorter->volume_piles[i] = pile;
        if (pile != SIZE_MAX) {
            sorter->piles[pile].cluster.volume_count++;
        }
    }
    /* Resources with a region first, so that a role then finds their cluster. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < finds->thing_count; i++) {
            const struct account_owner *owner = &finds->things[i].owner;
            if ((owner->region.len == 0) != (pass == 1)) {
                continue;
            }
            size_t pile = pile_of_thing(sorter, owner);
            sorter->thing_piles[i] = pile;
            if (pile != SIZE_MAX) {
                sorter->piles[pile].cluster.thing_count++;
            }
        }
    }
}

static void deal(struct sorter *sorter)
{
    const struct account_finds *finds = sorter->finds;
    for (size_t i = 0; i < sorter->count; i++) {
        struct pile *pile = &sorter->piles[i];
        const struct account_cluster *cluster = &pile->cluster;
        pile->machines = ARENA_ARRAY(sorter->arena, cluster->machine_count, struct account_machine);
        pile->volumes = ARENA_ARRAY(sorter->arena, cluster->volume_count, struct account_volume);
        pile->things = ARENA_ARRAY(sorter->arena, cluster->thing_count, struct account_thing);
    }
    for (size_t i = 0; i < finds->machine_count; i++) {
        if (sorter->machine_piles[i] != SIZE_MAX) {
            struct pile *pile = &sorter->piles[sorter->machine_piles[i]];
            pile->machines[pile->dealt_machines++] = finds->machines[i];
        }
    }
    for (size_t i = 0; i < finds->volume_count; i++) {
        if (sorter->volume_piles[i] != SIZE_MAX) {
            struct pile *pile = &sorter->piles[sorter->volume_piles[i]];
            pile->volumes[pile->dealt_volumes++] = finds->volumes[i];
        }
    }
    for (size_t i = 0; i < finds->thing_count; i++) {
        if (sorter->thing_piles[i] != SIZE_MAX) {
            struct pile *pile = &sorter->piles[sorter->thing_piles[i]];
            pile->things[pile->dealt_things++] = finds->things[i];
        }
    }
}

/* ---- sorting, so that the result does not depend on the order of replies ---- */

static int compare_machines(const void *left, const void *right)
{
    const struct account_machine *a = left;
    const struct account_machine *b = right;
    int order = b->is_head - a->is_head;
    order = order ? order : (a->launched_at > b->launched_at) - (a->launched_at < b->launched_at);
    return order ? order : str_cmp(a->id, b->id);
}

static int compare_volumes(const void *left, const void *right)
{
    const struct account_volume *a = left;
    const struct account_volume *b = right;
    return str_cmp(a->id, b->id);
}

static int compare_things(const void *left, const void *right)
{
    const struct account_thing *a = left;
    const struct account_thing *b = right;
    int order = (int)a->kind - (int)b->kind;
    return order ? order : str_cmp(a->id, b->id);
}

/* qsort() must not be called with a null array. */
static void account_sort(void *items, size_t count, size_t size,
                         int (*order)(const void *, const void *))
{
    if (count > 1) {
        qsort(items, count, size, order);
    }
}

static struct account_cluster account_finished(const struct pile *pile)
{
    struct account_cluster cluster = pile->cluster;
    account_sort(pile->machines, cluster.machine_count, sizeof(struct account_machine),
                 compare_machines);
    account_sort(pile->volumes, cluster.volume_count, sizeof(struct account_volume),
                 compare_volumes);
    account_sort(pile->things, cluster.thing_count, sizeof(struct account_thing), compare_things);
    cluster.machines = pile->machines;
    cluster.volumes = pile->volumes;
    cluster.things = pile->things;
    return cluster;
}

/* ---- state of a cluster ---- */

static void see_time(struct account_cluster *cluster, int64_t moment)
{
    bool is_older = cluster->since == ACCOUNT_NO_TIME || moment < cluster->since;
    if (moment != ACCOUNT_NO_TIME && is_older) {
        cluster->since = moment;
    }
}

/* Resources of a cluster that is being created must not be reported as leftovers. */
static bool is_being_made(const struct account_cluster *cluster, int64_t now)
{
    bool is_made = false;
    for (size_t i = 0; i < cluster->thing_count; i++) {
        const struct account_thing *thing = &cluster->things[i];
        bool is_lease = thing->kind == THING_TEMPLATE || thing->kind == THING_RECORD;
        bool is_young = is_lease && thing->made_at != ACCOUNT_NO_TIME &&
                        thing->made_at > now - ACCOUNT_MAKING_SECONDS;
        is_made = is_made ||
                  (thing->held_until == ACCOUNT_NO_TIME ? is_young : thing->held_until > now);
    }
    return is_made;
}

static enum account_state account_state_of(const struct account_cluster *cluster, bool head_runs,
                                           int64_t now)
{
    const size_t *counts = cluster->counts;
    size_t stopped = counts[MACHINE_STOPPED] + counts[MACHINE_STOPPING];
    size_t running = counts[MACHINE_RUNNING];
    size_t pending = counts[MACHINE_PENDING];
    if (cluster->machine_count == 0) {
        return is_being_made(cluster, now) ? ACCOUNT_STARTING : ACCOUNT_LEFTOVER;
    }
    if (stopped + running + pending == 0) {
        return ACCOUNT_ENDING;
    }
    if (running + pending == 0) {
        return ACCOUNT_STOPPED;
    }
    if (head_runs && stopped == 0) {
        return ACCOUNT_UP;
    }
    /* The head is booting, or workers run before the head was launched. */
    bool head_boots = cluster->has_head && !head_runs;
    return stopped == 0 && pending > 0 && (head_boots || running == 0) ? ACCOUNT_STARTING
                                                                       : ACCOUNT_PARTLY;
}

/* The head is stopped last. Of several, the one that may stay longest counts. */
static void account_see_expiry(struct account_cluster *cluster, int64_t expires_at)
{
    bool is_later = expires_at == EXPIRY_NEVER || expires_at > cluster->expires_at;
    bool is_never = cluster->has_head && cluster->expires_at == EXPIRY_NEVER;
    cluster->expires_at = is_later && !is_never ? expires_at : cluster->expires_at;
}

bool account_is_expired(const struct account_cluster *cluster, int64_t now)
{
    return cluster->state == ACCOUNT_STOPPED && cluster->owner.uid.len > 0 &&
           cluster->counts[MACHINE_STOPPING] == 0 && cluster->expires_at != EXPIRY_NEVER &&
           now >= cluster->expires_at;
}

static void account_evaluate(struct account_cluster *cluster, int64_t now)
{
    bool head_runs = false;
    bool has_failed = false;
    for (size_t i = 0; i < cluster->machine_count; i++) {
        const struct account_machine *machine = &cluster->machines[i];
        cluster->counts[machine->state]++;
        see_time(cluster, machine->launched_at);
        if (machine->is_head && machine->state != MACHINE_ENDING) {
            account_see_expiry(cluster, machine->expires_at);
            cluster->has_head = true;
            head_runs = head_runs || machine->state == MACHINE_RUNNING;
            has_failed = machine->has_failed && machine->state == MACHINE_RUNNING;
        }
    }
    cluster->state = has_failed ? ACCOUNT_FAILED : account_state_of(cluster, head_runs, now);
    for (size_t i = 0; cluster->owner.region.len == 0 && i < cluster->thing_count; i++) {
        cluster->owner.region = cluster->things[i].home;
    }
    for (size_t i = 0; cluster->machine_count == 0 && i < cluster->volume_count; i++) {
        see_time(cluster, cluster->volumes[i].made_at);
    }
    for (size_t i = 0; cluster->machine_count == 0 && i < cluster->thing_count; i++) {
        see_time(cluster, cluster->things[i].made_at);
    }
}

static int account_compare(const void *left, const void *right)
{
    const struct account_cluster *a = left;
    const struct account_cluster *b = right;
    int order = (a->state == ACCOUNT_LEFTOVER) - (b->state == ACCOUNT_LEFTOVER);
    order = order ? order : str_cmp(a->owner.name, b->owner.name);
    order = order ? order : str_cmp(a->owner.region, b->owner.region);
    order = order ? order : str_cmp(a->owner.uid, b->owner.uid);
    return order ? order : str_cmp(a->owner.project, b->owner.project);
}

void account_gather(const struct account_finds *finds, struct arena *arena,
                    struct account_cluster **ret_clusters, size_t *ret_count)
{
    struct sorter sorter = {
        .finds = finds,
        .arena = arena,
        .machine_piles = ARENA_ARRAY(arena, finds->machine_count, size_t),
        .volume_piles = ARENA_ARRAY(arena, finds->volume_count, size_t),
        .thing_piles = ARENA_ARRAY(arena, finds->thing_count, size_t),
    };
    assign(&sorter);
    deal(&sorter);
    struct account_cluster *clusters = ARENA_ARRAY(arena, sorter.count, struct account_cluster);
    for (size_t i = 0; i < sorter.count; i++) {
        clusters[i] = account_finished(&sorter.piles[i]);
        account_evaluate(&clusters[i], finds->now);
    }
    account_sort(clusters, sorter.count, sizeof(struct account_cluster), account_compare);
    *ret_clusters = clusters;
    *ret_count = sorter.count;
}

/* ---- several accounts ---- */

static void account_append(void *items, size_t *count, const void *more, size_t more_count,
                           size_t size)
{
    if (more_count > 0) {
        memcpy((char *)items + *count * size, more, more_count * size);
    }
    *count += more_count;
}

void account_join(const struct account *parts, size_t count, struct arena *arena,
                  struct account *ret_account)
{
    struct account most = {0};
    struct account all = {.id = STR("")};
    for (size_t i = 0; i < count; i++) {
        most.region_count += parts[i].region_count;
        most.project_count += parts[i].project_count;
        most.gap_count += parts[i].gap_count;
        most.skipped_count += parts[i].skipped_count;
        most.cluster_count += parts[i].cluster_count;
    }
    struct str *regions = ARENA_ARRAY(arena, most.region_count, struct str);
    struct str *projects = ARENA_ARRAY(arena, most.project_count, struct str);
    struct account_gap *gaps = ARENA_ARRAY(arena, most.gap_count, struct account_gap);
    struct account_gap *skipped = ARENA_ARRAY(arena, most.skipped_count, struct account_gap);
    struct account_cluster *clusters = ARENA_ARRAY(arena, most.cluster_count,
                                                   struct account_cluster);
    for (size_t i = 0; i < count; i++) {
        const struct account *part = &parts[i];
        all.id = all.id.len > 0 ? all.id : part->id;
        all.now = part->now > all.now ? part->now : all.now;
        account_append(regions, &all.region_count, part->regions, part->region_count,
                       sizeof(struct str));
        account_append(projects, &all.project_count, part->projects, part->project_count,
                       sizeof(struct str));
        account_append(gaps, &all.gap_count, part->gaps, part->gap_count,
                       sizeof(struct account_gap));
        account_append(skipped, &all.skipped_count, part->skipped, part->skipped_count,
                       sizeof(struct account_gap));
        account_append(clusters, &all.cluster_count, part->clusters, part->cluster_count,
                       sizeof(struct account_cluster));
    }
    account_sort(clusters, all.cluster_count, sizeof(struct account_cluster), account_compare);
    all.regions = regions;
    all.projects = projects;
    all.gaps = gaps;
    all.skipped = skipped;
    all.clusters = clusters;
    *ret_account = all;
}

/* ---- names ---- */

const char *account_state_name(enum account_state state)
{
    static const char *const names[ACCOUNT_STATE_COUNT] = {
        "up", "failed", "starting", "partly", "stopped", "ending", "leftover"};
    return names[state];
}

const char *account_thing_name(enum account_thing_kind kind)
{
    static const char *const names[THING_KIND_COUNT] = {
        "security group",   "key pair",      "launch template",  "role",
        "instance profile", "firewall rule", "instance template"};
    return names[kind];
}
