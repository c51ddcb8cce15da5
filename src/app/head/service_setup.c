/*
 * service_setup.c: sets up workers when the core requests it, and again after a new handover or a
 * restart of Ray on the head (setup_record.h).
 *
 * A worker that is set up again is reported as not in Ray, because its Ray is restarted; so the
 * core waits for it instead of treating it as dead. With --no-restart its Ray keeps running.
 */
#include "app/head/service_internal.h"

#include <stdio.h>
#include <string.h>

enum { LATE_MS = 100 }; /* interval of checks for the first state of Ray */

#define PAST_NAME WORKER_FACT
#define BEFORE_NAME "ray-before"
#define HEAD_NAME "ray-head"

/* ---- the journal ---- */

static bool save(struct service *service, const char *name, struct str text)
{
    struct err err = {0};
    bool ok = journal_note(service->journal, name, text, &err);
    if (!ok) { /* at worst it is set up once more */
        LOG(service, WARNING, "cannot store %s: %s", name, err.text);
    }
    return ok;
}

static void save_past(struct service *service, const struct setup_record *past, struct str id)
{
    struct arena arena;
    arena_init(&arena);
    (void)save(service, arena_printf(&arena, PAST_NAME "%.*s", STR_ARG(id)).ptr,
               setup_record_text(past, &arena));
    arena_clear(&arena);
}

static struct setup_record *past_of(struct service *service, const struct worker_machine *machine)
{
    struct setup_record *past = setup_records_find(&service->pasts, machine->instance);
    struct arena arena;
    struct str text = STR("");
    struct err err;
    if (past && past->launch == machine->launch) {
        return past;
    }
    past = setup_records_add(&service->pasts, machine->instance, machine->launch);
    arena_init(&arena);
    const char *name = arena_printf(&arena, PAST_NAME "%.*s", STR_ARG(machine->id)).ptr;
    if (journal_get(service->journal, name, &arena, &text, &err) && text.ptr) {
        setup_record_read(text, past);
    }
    arena_clear(&arena);
    return past;
}

/* ---- Ray on the head ---- */

bool service_waits_for_ray(const struct service *service)
{
    return service->handover.restarts_ray && service->ray_before[0] != '\0' &&
           (service->ray_head[0] == '\0' || strcmp(service->ray_head, service->ray_before) == 0);
}

/* Stored for the next process of the service, which needs it before Ray answers. */
void service_note_head(struct service *service)
{
    if (service->ray_head[0] != '\0' && service->journal &&
        strcmp(service->ray_head, service->noted_head) != 0 &&
        save(service, HEAD_NAME, str_from(service->ray_head))) {
        memcpy(service->noted_head, service->ray_head, sizeof(service->noted_head));
    }
}

bool service_note_before(struct service *service, int64_t serial, struct err *err)
{
    struct arena arena;
    struct str head = str_from(service->ray_head);
    arena_init(&arena);
    bool ok = head.len > 0 || journal_get(service->journal, HEAD_NAME, &arena, &head, err);
    if (ok && head.len > 0) {
        struct str text = arena_printf(&arena, "%lld %.*s", (long long)serial, STR_ARG(head));
        ok = journal_note(service->journal, BEFORE_NAME, text, err);
    }
    arena_clear(&arena);
    return ok;
}

void service_read_before(struct service *service)
{
    struct arena arena;
    struct str text = STR("");
    struct err err;
    int64_t serial = -1;
    arena_init(&arena);
    if (journal_get(service->journal, BEFORE_NAME, &arena, &text, &err) && text.len > 0) {
        struct str number = str_cut(&text, ' ');
        if (str_to_i64(number, &serial) && serial == service->handover.serial) {
            snprintf(service->ray_before, sizeof(service->ray_before), "%.*s", STR_ARG(text));
        }
    }
    arena_clear(&arena);
}

/* ---- one worker ---- */

void service_tag(struct service *service, uint64_t instance, struct str status)
{
    struct str hash = service->handover.runtime_hash;
    if (!service->controller) {
        return;
    }
    bool is_done = str_is(status, "up-to-date");
    bool is_passing = !is_done && !str_is(status, "update-failed");
    controller_tag(service->controller, instance, STR("ray-node-status"), status, is_passing);
    if (is_done && hash.len > 0) {
        controller_tag(service->controller, instance, STR("ray-runtime-config"), hash, false);
    }
}

static bool keeps_ray(const struct service *service)
{
    return value_is_true(value_get_c(service->config->tree, "no_restart"));
}

static bool is_in_ray(const struct service *service, uint64_t instance)
{
    return ray_view_node_id(service->mirror, instance).len > 0;
}

/* Has it everything that a setup needs? */
static bool is_fit(const struct service *service, const struct managed_node *managed_node)
{
    return !managed_node->is_head && managed_node->machine &&
           managed_node->machine->private_ip.len > 0 && managed_node->node &&
           managed_node->node->offering < service->core.settings.offering_count;
}

static struct worker_machine service_setup_machine_of(const struct service *service,
                                                      const struct managed_node *managed_node,
                                                      struct arena *arena)
{
    const struct machine *machine = managed_node->machine;
    uint32_t type = service->core.settings.offerings[managed_node->node->offering].type;
    return (struct worker_machine){
        .instance = managed_node->instance,
        .launch = managed_node->node->launch,
        .name = service_node_name(managed_node, arena),
        .id = machine->id,
        .address = machine->private_ip,
        .machine = machine->type,
        .type = &service->config->node_types[type],
        .is_spot = machine->market == MARKET_SPOT,
    };
}

static void service_setup_find_wanted(const struct service *service,
                                      const struct worker_machine *machine,
                                      struct setup_record *past)
{
    struct err err;
    if (past->wanted[0] == '\0' &&
        !worker_setups_key(service->setups, machine, past->wanted, &err)) {
        past->wanted[0] = '\0'; /* the setup reports the error */
    }
}

static void service_setup_begin(struct service *service, struct worker_machine *machine,
                                struct setup_record *past)
{
    machine->run = str_from(past->next_run);
    machine->keeps_ray = past->keeps_ray;
    setup_record_begin(past, str_from(service->ray_head));
    save_past(service, past, machine->id); /* so that the next process knows what was started */
    worker_setups_begin(service->setups, machine);
}

static void begin_update(struct service *service, struct worker_machine *machine,
                         struct setup_record *past, const struct setup_target *now,
                         enum worker_again why)
{
    past->is_updating = true;
    past->keeps_ray = now->keeps_ray;
    past->rejoins += why == WORKER_HAS_NOT_JOINED;
    setup_record_name(past, machine->id, service->handover.serial, now->head);
    LOG(service, INFO, "set up again: %.*s %.*s: %s%s", STR_ARG(machine->name),
        STR_ARG(machine->id), worker_again_text(why),
        past->keeps_ray ? "; Ray keeps running on it" : "");
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, machine->name, STR("setting it up again"),
               str_from(worker_again_text(why)));
    worker_setups_end(service->setups, machine->instance); /* drops the state of the last setup */
    service_setup_begin(service, machine, past);
}

static struct setup_target present_of(const struct service *service, uint64_t instance)
{
    bool is_there = is_in_ray(service, instance);
    return (struct setup_target){
        .head = str_from(service->ray_head),
        .is_in_ray = is_there,
        .keeps_ray = is_there && keeps_ray(service),
        .now_ms = loop_now_ms(service->session.loop),
    };
}

/* ---- repeated setups ---- */

struct update {
    struct service *service;
    struct arena arena;
    uint64_t *instances;
    size_t count, capacity;
};

static void service_setup_gather(void *context, const struct managed_node *managed_node)
{
    struct update *update = context;
    if (is_fit(update->service, managed_node)) {
        void *items = update->instances;
        arena_grow(&update->arena, &items, update->count, &update->capacity,
                   sizeof(*update->instances));
        update->instances = items;
        update->instances[update->count++] = managed_node->instance;
    }
}

/* Not terminating, and its machine runs. */
static bool service_setup_is_living(const struct node *node)
{
    return node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
           node->state == NODE_READY || node->state == NODE_IDLE;
}

/* It is in Ray: records the head, and what it was set up with if that is unknown. */
static void note_joined(struct service *service, struct setup_record *past,
                        const struct managed_node *managed_node)
{
    struct str head = str_from(service->ray_head);
    if (past->key[0] == '\0') {
        setup_record_begin(past, head);
        setup_record_end(past, true, head, loop_now_ms(service->session.loop));
    }
    setup_record_join(past, head, loop_now_ms(service->session.loop));
    save_past(service, past, managed_node->machine->id);
    service_log_joined(service, managed_node);
}

/* False if its setup runs or has failed, or the node is terminating. */
static bool can_update(const struct service *service, const struct managed_node *managed_node,
                       const struct setup_record *past)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    managed_node->instance);
    bool is_open = progress && progress->phase != PHASE_JOINING && !progress->is_outdated;
    return !past->is_updating && !is_open && service_setup_is_living(managed_node->node);
}

static void service_setup_inspect(struct service *service, const struct managed_node *managed_node,
                                  struct arena *arena)
{
    struct worker_machine machine = service_setup_machine_of(service, managed_node, arena);
    struct setup_record *past = past_of(service, &machine);
    struct setup_target now = present_of(service, machine.instance);
    if (!can_update(service, managed_node, past)) {
        return;
    }
    service_setup_find_wanted(service, &machine, past);
    if (setup_record_see(past, now.head, now.now_ms)) {
        save_past(service, past, machine.id);
    }
    enum worker_again why = setup_record_again(past, &now);
    if (why != WORKER_IS_FINE) {
        if (!service_waits_for_ray(service)) {
            begin_update(service, &machine, past, &now, why);
        }
    } else if (now.is_in_ray && strcmp(past->head, service->ray_head) != 0) {
        note_joined(service, past, managed_node);
    }
}

static bool can_look(const struct service *service)
{
    return service->controller && service->is_leading && service->is_head_alive &&
           service->has_seen_ray;
}

bool service_lost_restored(struct service *service, uint64_t instance)
{
    struct setup_record *past = setup_records_find(&service->pasts, instance);
    struct managed_node managed_node;
    return past && can_look(service) && !service_waits_for_ray(service) &&
           controller_find(service->controller, instance, &managed_node) &&
           is_fit(service, &managed_node) && can_update(service, &managed_node, past) &&
           setup_record_die(past, loop_now_ms(service->session.loop));
}

/* A worker that has not joined in time is set up again without any other change. */
bool service_is_rejoin_due(const struct service *service)
{
    int64_t now_ms = loop_now_ms(service->session.loop);
    for (size_t i = 0; i < service->pasts.count; i++) {
        const struct setup_record *past = &service->pasts.items[i];
        int64_t at_ms = setup_record_rejoin_at(past);
        if (at_ms > 0 && at_ms <= now_ms && !past->is_updating &&
            !is_in_ray(service, past->instance) && strcmp(past->head, service->ray_head) != 0) {
            return true;
        }
    }
    return false;
}

void service_update(struct service *service)
{
    struct update update = {.service = service};
    if (!can_look(service)) {
        return;
    }
    arena_init(&update.arena);
    controller_each(service->controller, service_setup_gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct managed_node managed_node;
        if (controller_find(service->controller, update.instances[i], &managed_node) &&
            is_fit(service, &managed_node)) {
            service_setup_inspect(service, &managed_node, &update.arena);
        }
    }
    arena_clear(&update.arena);
}

/* ---- requests of the core ---- */

static void take_as_done(struct service *service, uint64_t instance)
{
    controller_set_up(service->controller, instance, SETUP_CONTACT);
    controller_set_up(service->controller, instance, SETUP_DONE);
    service_tag(service, instance, STR("up-to-date"));
}

/* Right after a start the first state of Ray has not arrived yet. */
static bool service_setup_is_too_early(const struct service *service)
{
    return !service->has_seen_ray && gcs_poller_trouble(service->ray).len == 0;
}

void service_set_up_late(struct service *service)
{
    struct update update = {.service = service};
    loop_timer_stop(service->late);
    if (!service->controller || !service->has_late) {
        return;
    }
    service->has_late = false;
    arena_init(&update.arena);
    controller_each(service->controller, service_setup_gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct managed_node managed_node;
        if (controller_find(service->controller, update.instances[i], &managed_node) &&
            managed_node.node && managed_node.node->state == NODE_BOOTING) {
            service_set_up(service, &managed_node);
        }
    }
    arena_clear(&update.arena);
}

void service_set_up(struct service *service, const struct managed_node *managed_node)
{
    struct arena arena;
    if (!is_fit(service, managed_node)) {
        return; /* requested again when it has an address */
    }
    if (service_setup_is_too_early(service)) {
        service->has_late = true;
        loop_timer_start(service->late, LATE_MS);
        return;
    }
    arena_init(&arena);
    struct worker_machine machine = service_setup_machine_of(service, managed_node, &arena);
    struct setup_record *past = past_of(service, &machine);
    struct setup_target now = present_of(service, machine.instance);
    bool is_known = worker_setups_progress(service->setups, managed_node->instance) != NULL;
    service_setup_find_wanted(service, &machine, past);
    bool is_changed = past->key[0] != '\0' && strcmp(past->key, past->wanted) != 0;
    if (is_known) {
        worker_setups_begin(service->setups, &machine); /* reports its result again */
    } else if (now.is_in_ray) {
        /* After a restart of this service the core does not know the workers. */
        take_as_done(service, managed_node->instance);
    } else if (!is_changed) { /* otherwise decided when Ray answers */
        past->is_updating = past->key[0] != '\0' && !past->is_done; /* continue an unfinished one */
        past->keeps_ray = past->kept_ray;
        setup_record_name(past, machine.id, service->handover.serial, STR(""));
        if (past->is_done && past->run[0] != '\0') { /* the node knows that this run is finished */
            memcpy(past->next_run, past->run, sizeof(past->next_run));
        }
        service_setup_begin(service, &machine, past);
    }
    if (can_look(service)) {
        service_setup_inspect(service, managed_node, &arena);
    }
    arena_clear(&arena);
}

/* ---- results ---- */

static void service_setup_note_end(struct service *service, struct setup_record *past, bool is_fine)
{
    struct str head = str_from(service->ray_head);
    struct managed_node managed_node;
    setup_record_end(past, is_fine, head, loop_now_ms(service->session.loop));
    if (service->controller &&
        controller_find(service->controller, past->instance, &managed_node) &&
        managed_node.machine) {
        bool is_there = !past->kept_ray && is_in_ray(service, past->instance);
        if (is_there && !str_is(head, past->head)) {
            setup_record_join(past, head, loop_now_ms(service->session.loop));
            service_log_joined(service, &managed_node);
        }
        save_past(service, past, managed_node.machine->id);
    }
    service->ray_mark = 0; /* check it again with Ray's next answer */
}

bool service_set_up_outdated(struct service *service, uint64_t instance)
{
    struct setup_record *past = setup_records_find(&service->pasts, instance);
    bool is_outdated = past && (service_waits_for_ray(service) ||
                                setup_record_is_outdated(past, str_from(service->ray_head)));
    if (is_outdated) {
        service_setup_note_end(service, past, false);
    }
    return is_outdated;
}

void service_set_up_news(struct service *service, uint64_t instance, enum setup_news news)
{
    struct setup_record *past = setup_records_find(&service->pasts, instance);
    if (past && news != SETUP_CONTACT) {
        service_setup_note_end(service, past, news == SETUP_DONE);
    }
}

bool service_had_joined(struct service *service, uint64_t instance)
{
    struct managed_node managed_node;
    struct arena arena;
    struct str head = ray_view_head(service->mirror);
    if (!service->controller || !controller_find(service->controller, instance, &managed_node) ||
        !is_fit(service, &managed_node) || !node_state_table[managed_node.node->state].is_pending) {
        return false;
    }
    arena_init(&arena);
    struct worker_machine machine = service_setup_machine_of(service, &managed_node, &arena);
    const struct setup_record *past = past_of(service, &machine);
    arena_clear(&arena);
    return past->is_done && !past->is_updating && head.len > 0 && str_is(head, past->head);
}

bool service_is_updating(const struct service *service, uint64_t instance, bool *ret_keeps_ray)
{
    const struct setup_record *past = setup_records_find(&service->pasts, instance);
    *ret_keeps_ray = past && past->keeps_ray;
    return past && past->is_updating;
}
