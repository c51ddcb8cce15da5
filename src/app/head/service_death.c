/*
 * service_death.c: finds out why a node died in Ray.
 *
 * When an idle node is drained because of a spot interruption, Ray removes it immediately, so the
 * state shows a dead node that was never seen draining. Only the list of nodes says that it was
 * preempted. The death is held until that is known; then the core is notified that the node drains
 * and that it is dead, as for a node that had work to finish.
 */
#include "app/head/service_death.h"

#include "base/require.h"
#include "io/xalloc.h"

#include <string.h>

/* Deaths that are held until Ray has given their cause. */
struct deaths {
    struct head_context *head;
    uint64_t *instances; /* heap */
    size_t count, capacity;
    size_t asked; /* the first `asked` are in the request in flight */
};

struct deaths *deaths_open(struct head_context *head)
{
    struct deaths *deaths = HEAP_NEW(struct deaths);
    deaths->head = head;
    return deaths;
}

void deaths_close(struct deaths *deaths)
{
    if (deaths) {
        free(deaths->instances);
        free(deaths);
    }
}

static void service_death_report(struct deaths *deaths, uint64_t instance, enum ray_status status)
{
    struct ray_node node = {.instance = instance, .status = status, .idle_since = NOT_IDLE};
    if (deaths->head->controller) {
        controller_ray_node(deaths->head->controller, &node);
    }
}

/* ---- the list ---- */

static void service_death_hold(struct deaths *deaths, uint64_t instance)
{
    HEAP_ROOM(deaths->instances, deaths->count, deaths->capacity);
    require(deaths->count < deaths->capacity, "there is room for a death");
    deaths->instances[deaths->count++] = instance;
}

bool deaths_drop(struct deaths *deaths, uint64_t instance)
{
    for (size_t i = 0; i < deaths->count; i++) {
        if (deaths->instances[i] == instance) {
            deaths->count--;
            memmove(&deaths->instances[i], &deaths->instances[i + 1],
                    (deaths->count - i) * sizeof(*deaths->instances));
            deaths->asked -= i < deaths->asked;
            require(deaths->asked <= deaths->count, "the request is about deaths that are held");
            return true;
        }
    }
    return false;
}

/* ---- answers ---- */

static bool is_preempted(const struct deaths *deaths, uint64_t instance,
                         const struct gcs_node *nodes, size_t count)
{
    struct managed_node managed_node;
    const struct gcs_node *last = NULL;
    if (!controller_find(deaths->head->controller, instance, &managed_node) ||
        !managed_node.machine) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_its = !nodes[i].is_alive && str_eq(nodes[i].instance_id, managed_node.machine->id);
        if (is_its && (!last || nodes[i].ended_ms >= last->ended_ms)) {
            last = &nodes[i];
        }
    }
    return last && last->is_preempted;
}

void deaths_apply(struct deaths *deaths, size_t asked, const struct gcs_node *nodes, size_t count)
{
    deaths->asked = 0;
    while (asked-- > 0 && deaths->count > 0) {
        uint64_t instance = deaths->instances[0];
        (void)deaths_drop(deaths, instance);
        if (deaths->head->controller && is_preempted(deaths, instance, nodes, count)) {
            service_death_report(deaths, instance, RAY_DRAINING);
        }
        service_death_report(deaths, instance, RAY_DEAD);
    }
    deaths_ask(deaths);
}

static void on_nodes(void *context, const struct gcs_answer *answer, const struct gcs_node *nodes,
                     size_t count)
{
    struct deaths *deaths = context;
    if (answer->trouble != GCS_FINE) {
        LOG(deaths->head, WARNING, "cannot read from Ray why nodes died: %s", answer->err.text);
    }
    deaths_apply(deaths, deaths->asked, nodes, count);
}

void deaths_ask(struct deaths *deaths)
{
    struct gcs *gcs = gcs_poller_gcs(deaths->head->ray.poller);
    if (deaths->asked > 0 || deaths->count == 0) {
        return;
    }
    if (gcs) {
        require(deaths->asked == 0, "one request at a time");
        deaths->asked = deaths->count;
        gcs_list_dead_nodes(gcs, on_nodes, deaths);
    } else {
        deaths_lost(deaths);
    }
}

/* ---- interface ---- */

/* Does the node run, for the core? Deaths of drained or never joined nodes are reported at once. */
static bool is_sudden(const struct deaths *deaths, uint64_t instance)
{
    struct managed_node managed_node;
    return deaths->head->controller &&
           controller_find(deaths->head->controller, instance, &managed_node) &&
           !managed_node.is_head && managed_node.node &&
           node_state_table[managed_node.node->state].is_running;
}

bool deaths_hold(struct deaths *deaths, uint64_t instance)
{
    bool is_held = is_sudden(deaths, instance);
    if (is_held) {
        service_death_hold(deaths, instance);
    }
    return is_held;
}

void deaths_forget(struct deaths *deaths)
{
    deaths->count = deaths->asked = 0;
}

void deaths_lost(struct deaths *deaths)
{
    deaths_apply(deaths, deaths->count, NULL, 0);
}
