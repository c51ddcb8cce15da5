/*
 * service_setup.c: sets up workers when the core requests it, and again after a new handover or a
 * restart of Ray on the head (setup_record.h).
 *
 * A worker that is set up again is reported as not in Ray, because its Ray is restarted; so the
 * core waits for it instead of treating it as dead. With --no-restart its Ray keeps running.
 */
#include "app/head/service_setup.h"

#include "app/head/node_reason.h"
#include "io/xalloc.h"

#include <stdio.h>
#include <string.h>

enum { LATE_MS = 100 }; /* interval of checks for the first state of Ray */

struct setup_scheduler {
    struct setup_scheduler_setup setup;
    struct head_context *head;
    struct loop_timer *late; /* retries setups that wait for the state of Ray */
    bool has_late;
    uint64_t ray_mark; /* ray_view_mark() when workers were last checked */
};

/* ---- the journal ---- */

static void save_past(struct setup_scheduler *scheduler, const struct setup_record *past,
                      struct str id)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    const char *name = arena_printf(&arena, WORKER_FACT "%.*s", STR_ARG(id)).ptr;
    if (!journal_note(scheduler->head->journal, name, setup_record_text(past, &arena), &err)) {
        /* At worst it is set up once more. */
        LOG(scheduler->head, WARNING, "cannot store %s: %s", name, err.text);
    }
    arena_clear(&arena);
}

static struct setup_record *past_of(struct setup_scheduler *scheduler,
                                    const struct worker_machine *machine)
{
    struct setup_record *past = worker_records_setup(scheduler->setup.workers, machine->instance);
    struct arena arena;
    struct str text = STR("");
    struct err err;
    if (past && past->launch == machine->launch) {
        return past;
    }
    past = worker_records_new_setup(scheduler->setup.workers, machine->instance, machine->launch);
    arena_init(&arena);
    const char *name = arena_printf(&arena, WORKER_FACT "%.*s", STR_ARG(machine->id)).ptr;
    if (journal_get(scheduler->head->journal, name, &arena, &text, &err) && text.ptr) {
        setup_record_read(text, past);
    }
    arena_clear(&arena);
    return past;
}

/* ---- one worker ---- */

void setup_scheduler_tag(struct setup_scheduler *scheduler, uint64_t instance, struct str status)
{
    struct str hash = scheduler->head->handover.runtime_hash;
    if (!scheduler->head->controller) {
        return;
    }
    bool is_done = str_is(status, "up-to-date");
    bool is_passing = !is_done && !str_is(status, "update-failed");
    controller_tag(scheduler->head->controller, instance, STR("ray-node-status"), status,
                   is_passing);
    if (is_done && hash.len > 0) {
        controller_tag(scheduler->head->controller, instance, STR("ray-runtime-config"), hash,
                       false);
    }
}

static bool keeps_ray(const struct setup_scheduler *scheduler)
{
    return value_is_true(value_get_c(scheduler->head->config->tree, "no_restart"));
}

/* Has it everything that a setup needs? */
static bool is_fit(const struct setup_scheduler *scheduler, const struct managed_node *managed_node)
{
    return !managed_node->is_head && managed_node->machine &&
           managed_node->machine->private_ip.len > 0 && managed_node->node &&
           managed_node->node->offering < scheduler->head->core.settings.offering_count;
}

static struct worker_machine service_setup_machine_of(const struct setup_scheduler *scheduler,
                                                      const struct managed_node *managed_node,
                                                      struct arena *arena)
{
    const struct machine *machine = managed_node->machine;
    uint32_t type = scheduler->head->core.settings.offerings[managed_node->node->offering].type;
    return (struct worker_machine){
        .instance = managed_node->instance,
        .launch = managed_node->node->launch,
        .name = node_reason_name(managed_node, arena),
        .id = machine->id,
        .zone = machine->zone,
        .address = machine->private_ip,
        .machine = machine->type,
        .type = scheduler->head->config->node_types[type].as_worker,
        .is_spot = machine->market == MARKET_SPOT,
    };
}

static void service_setup_find_wanted(const struct setup_scheduler *scheduler,
                                      const struct worker_machine *machine,
                                      struct setup_record *past)
{
    struct err err;
    if (past->wanted[0] == '\0' &&
        !worker_setups_key(scheduler->setup.setups, machine, past->wanted, &err)) {
        past->wanted[0] = '\0'; /* the setup reports the error */
    }
}

static void service_setup_begin(struct setup_scheduler *scheduler, struct worker_machine *machine,
                                struct setup_record *past)
{
    machine->run = str_from(past->next_run);
    machine->keeps_ray = past->keeps_ray;
    setup_record_begin(past, str_from(scheduler->head->ray.id));
    save_past(scheduler, past, machine->id); /* so that the next process knows what was started */
    worker_setups_begin(scheduler->setup.setups, machine);
}

static void begin_update(struct setup_scheduler *scheduler, struct worker_machine *machine,
                         struct setup_record *past, const struct setup_target *now,
                         enum worker_again why)
{
    past->is_updating = true;
    past->keeps_ray = now->keeps_ray;
    past->rejoins += why == WORKER_HAS_NOT_JOINED;
    setup_record_name(past, machine->id, scheduler->head->handover.serial, now->head);
    LOG(scheduler->head, INFO, "set up again: %.*s %.*s: %s%s", STR_ARG(machine->name),
        STR_ARG(machine->id), worker_again_text(why),
        past->keeps_ray ? "; Ray keeps running on it" : "");
    events_add(scheduler->head->events, CLUSTER_EVENT_AUTOSCALER, machine->name,
               STR("setting up again"), str_from(worker_again_text(why)));
    worker_setups_end(scheduler->setup.setups,
                      machine->instance); /* drops the state of the last setup */
    service_setup_begin(scheduler, machine, past);
}

static struct setup_target present_of(const struct setup_scheduler *scheduler, uint64_t instance)
{
    bool is_there = head_ray_has(scheduler->head, instance);
    return (struct setup_target){
        .head = str_from(scheduler->head->ray.id),
        .is_in_ray = is_there,
        .keeps_ray = is_there && keeps_ray(scheduler),
        .now_ms = loop_now_ms(scheduler->head->session.loop),
    };
}

/* ---- repeated setups ---- */

struct update {
    struct setup_scheduler *scheduler;
    struct arena arena;
    uint64_t *instances;
    size_t count, capacity;
};

static void service_setup_gather(void *context, const struct managed_node *managed_node)
{
    struct update *update = context;
    if (is_fit(update->scheduler, managed_node)) {
        ARENA_PUSH(&update->arena, update->instances, update->count,
                   update->capacity) = managed_node->instance;
    }
}

/* Not terminating, and its machine runs. */
static bool service_setup_is_living(const struct node *node)
{
    return node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
           node->state == NODE_READY || node->state == NODE_IDLE;
}

/* It is in Ray: records the head, and what it was set up with if that is unknown. */
static void note_joined(struct setup_scheduler *scheduler, struct setup_record *past,
                        const struct managed_node *managed_node)
{
    struct str head = str_from(scheduler->head->ray.id);
    if (past->key[0] == '\0') {
        setup_record_begin(past, head);
        setup_record_end(past, true, head, loop_now_ms(scheduler->head->session.loop));
    }
    setup_record_join(past, head, loop_now_ms(scheduler->head->session.loop));
    save_past(scheduler, past, managed_node->machine->id);
    event_log_joined(scheduler->setup.event_log, managed_node);
}

/* False if its setup runs or has failed, or the node is terminating. */
static bool can_update(const struct setup_scheduler *scheduler,
                       const struct managed_node *managed_node, const struct setup_record *past)
{
    const struct worker_progress *progress = worker_setups_progress(scheduler->setup.setups,
                                                                    managed_node->instance);
    bool is_open = progress && progress->phase != PHASE_JOINING && !progress->is_outdated;
    return !past->is_updating && !is_open && service_setup_is_living(managed_node->node);
}

bool setup_scheduler_is_set_up(struct setup_scheduler *scheduler,
                               const struct managed_node *managed_node, struct arena *arena,
                               struct worker_machine *ret_machine)
{
    if (!is_fit(scheduler, managed_node) ||
        !head_ray_has(scheduler->head, managed_node->instance)) {
        return false;
    }
    *ret_machine = service_setup_machine_of(scheduler, managed_node, arena);
    return can_update(scheduler, managed_node, past_of(scheduler, ret_machine));
}

static void service_setup_inspect(struct setup_scheduler *scheduler,
                                  const struct managed_node *managed_node, struct arena *arena)
{
    struct worker_machine machine = service_setup_machine_of(scheduler, managed_node, arena);
    struct setup_record *past = past_of(scheduler, &machine);
    struct setup_target now = present_of(scheduler, machine.instance);
    if (!can_update(scheduler, managed_node, past)) {
        return;
    }
    service_setup_find_wanted(scheduler, &machine, past);
    if (setup_record_see(past, now.head, now.now_ms)) {
        save_past(scheduler, past, machine.id);
    }
    enum worker_again why = setup_record_again(past, &now);
    if (why != WORKER_IS_FINE) {
        if (!head_ray_is_restarting(scheduler->head)) {
            begin_update(scheduler, &machine, past, &now, why);
        }
    } else if (now.is_in_ray && strcmp(past->head, scheduler->head->ray.id) != 0) {
        note_joined(scheduler, past, managed_node);
    }
}

static bool can_look(const struct setup_scheduler *scheduler)
{
    return scheduler->head->controller && scheduler->head->is_leading &&
           scheduler->head->ray.is_alive && scheduler->head->ray.has_seen;
}

bool setup_scheduler_lost_restored(struct setup_scheduler *scheduler, uint64_t instance)
{
    struct setup_record *past = worker_records_setup(scheduler->setup.workers, instance);
    struct managed_node managed_node;
    return past && can_look(scheduler) && !head_ray_is_restarting(scheduler->head) &&
           controller_find(scheduler->head->controller, instance, &managed_node) &&
           is_fit(scheduler, &managed_node) && can_update(scheduler, &managed_node, past) &&
           setup_record_die(past, loop_now_ms(scheduler->head->session.loop));
}

/* A worker that has not joined in time is set up again without any other change. */
static bool service_setup_is_rejoin_due(const struct setup_scheduler *scheduler)
{
    int64_t now_ms = loop_now_ms(scheduler->head->session.loop);
    const struct worker_records *workers = scheduler->setup.workers;
    for (size_t i = 0; i < workers->count; i++) {
        const struct setup_record *past = &workers->items[i]->setup;
        int64_t at_ms = workers->items[i]->has_setup ? setup_record_rejoin_at(past) : 0;
        if (at_ms > 0 && at_ms <= now_ms && !past->is_updating &&
            !head_ray_has(scheduler->head, past->instance) &&
            strcmp(past->head, scheduler->head->ray.id) != 0) {
            return true;
        }
    }
    return false;
}

static void service_setup_update(struct setup_scheduler *scheduler)
{
    struct update update = {.scheduler = scheduler};
    if (!can_look(scheduler)) {
        return;
    }
    arena_init(&update.arena);
    controller_each(scheduler->head->controller, service_setup_gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct managed_node managed_node;
        if (controller_find(scheduler->head->controller, update.instances[i], &managed_node) &&
            is_fit(scheduler, &managed_node)) {
            service_setup_inspect(scheduler, &managed_node, &update.arena);
        }
    }
    arena_clear(&update.arena);
}

/* ---- requests of the core ---- */

static void take_as_done(struct setup_scheduler *scheduler, uint64_t instance)
{
    controller_set_up(scheduler->head->controller, instance, SETUP_CONTACT, false);
    controller_set_up(scheduler->head->controller, instance, SETUP_DONE, false);
    setup_scheduler_tag(scheduler, instance, STR("up-to-date"));
}

/* Right after a start the first state of Ray has not arrived yet. */
static bool service_setup_is_too_early(const struct setup_scheduler *scheduler)
{
    return !scheduler->head->ray.has_seen &&
           gcs_poller_trouble(scheduler->head->ray.poller).len == 0;
}

static void service_setup_late(void *context)
{
    struct setup_scheduler *scheduler = context;
    struct update update = {.scheduler = scheduler};
    loop_timer_stop(scheduler->late);
    if (!scheduler->head->controller || !scheduler->has_late) {
        return;
    }
    scheduler->has_late = false;
    arena_init(&update.arena);
    controller_each(scheduler->head->controller, service_setup_gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct managed_node managed_node;
        if (controller_find(scheduler->head->controller, update.instances[i], &managed_node) &&
            managed_node.node && managed_node.node->state == NODE_BOOTING) {
            setup_scheduler_set_up(scheduler, &managed_node);
        }
    }
    arena_clear(&update.arena);
}

void setup_scheduler_set_up(struct setup_scheduler *scheduler,
                            const struct managed_node *managed_node)
{
    struct arena arena;
    if (!is_fit(scheduler, managed_node)) {
        return; /* requested again when it has an address */
    }
    if (service_setup_is_too_early(scheduler)) {
        scheduler->has_late = true;
        loop_timer_start(scheduler->late, LATE_MS);
        return;
    }
    arena_init(&arena);
    struct worker_machine machine = service_setup_machine_of(scheduler, managed_node, &arena);
    struct setup_record *past = past_of(scheduler, &machine);
    struct setup_target now = present_of(scheduler, machine.instance);
    bool is_known = worker_setups_progress(scheduler->setup.setups, managed_node->instance) != NULL;
    service_setup_find_wanted(scheduler, &machine, past);
    bool is_changed = past->key[0] != '\0' && strcmp(past->key, past->wanted) != 0;
    if (is_known) {
        worker_setups_begin(scheduler->setup.setups, &machine); /* reports its result again */
    } else if (now.is_in_ray) {
        /* After a restart of this service the core does not know the workers. */
        take_as_done(scheduler, managed_node->instance);
    } else if (!is_changed) { /* a change is handled when Ray answers */
        past->is_updating = past->key[0] != '\0' && !past->is_done; /* continue an unfinished one */
        past->keeps_ray = past->kept_ray;
        setup_record_name(past, machine.id, scheduler->head->handover.serial, STR(""));
        if (past->is_done && past->run[0] != '\0') { /* the node knows that this run is finished */
            memcpy(past->next_run, past->run, sizeof(past->next_run));
        }
        service_setup_begin(scheduler, &machine, past);
    }
    if (can_look(scheduler)) {
        service_setup_inspect(scheduler, managed_node, &arena);
    }
    arena_clear(&arena);
}

/* ---- results ---- */

static void service_setup_note_end(struct setup_scheduler *scheduler, struct setup_record *past,
                                   bool is_fine)
{
    struct str head = str_from(scheduler->head->ray.id);
    struct managed_node managed_node;
    setup_record_end(past, is_fine, head, loop_now_ms(scheduler->head->session.loop));
    if (scheduler->head->controller &&
        controller_find(scheduler->head->controller, past->instance, &managed_node) &&
        managed_node.machine) {
        bool is_there = !past->kept_ray && head_ray_has(scheduler->head, past->instance);
        if (is_there && !str_is(head, past->head)) {
            setup_record_join(past, head, loop_now_ms(scheduler->head->session.loop));
            event_log_joined(scheduler->setup.event_log, &managed_node);
        }
        save_past(scheduler, past, managed_node.machine->id);
    }
    scheduler->ray_mark = 0; /* check it again with Ray's next answer */
}

bool setup_scheduler_is_outdated(struct setup_scheduler *scheduler, uint64_t instance)
{
    struct setup_record *past = worker_records_setup(scheduler->setup.workers, instance);
    bool is_outdated = past && (head_ray_is_restarting(scheduler->head) ||
                                setup_record_is_outdated(past, str_from(scheduler->head->ray.id)));
    if (is_outdated) {
        service_setup_note_end(scheduler, past, false);
    }
    return is_outdated;
}

void setup_scheduler_news(struct setup_scheduler *scheduler, uint64_t instance,
                          enum setup_news news)
{
    struct setup_record *past = worker_records_setup(scheduler->setup.workers, instance);
    if (past && news != SETUP_CONTACT) {
        service_setup_note_end(scheduler, past, news == SETUP_DONE);
    }
}

bool setup_scheduler_is_unused(struct setup_scheduler *scheduler, uint64_t instance)
{
    const struct setup_record *past = worker_records_setup(scheduler->setup.workers, instance);
    const struct worker_progress *progress = worker_setups_progress(scheduler->setup.setups,
                                                                    instance);
    return past && past->is_first && progress && progress->is_unused;
}

bool setup_scheduler_had_joined(struct setup_scheduler *scheduler, uint64_t instance)
{
    struct managed_node managed_node;
    struct arena arena;
    struct str head = ray_view_head(scheduler->head->ray.view);
    if (!scheduler->head->controller ||
        !controller_find(scheduler->head->controller, instance, &managed_node) ||
        !is_fit(scheduler, &managed_node) ||
        !node_state_table[managed_node.node->state].is_pending) {
        return false;
    }
    arena_init(&arena);
    struct worker_machine machine = service_setup_machine_of(scheduler, &managed_node, &arena);
    const struct setup_record *past = past_of(scheduler, &machine);
    arena_clear(&arena);
    return past->is_done && !past->is_updating && head.len > 0 && str_is(head, past->head);
}

/* ---- Ray's replies ---- */

void setup_scheduler_begin(struct setup_scheduler *scheduler)
{
    scheduler->ray_mark = 0;
}

void setup_scheduler_ray_seen(struct setup_scheduler *scheduler)
{
    const struct head_ray *ray = &scheduler->head->ray;
    service_setup_late(scheduler);
    uint64_t mark = ray_view_mark(ray->view);
    if (mark != scheduler->ray_mark || service_setup_is_rejoin_due(scheduler)) {
        service_setup_update(scheduler);
        scheduler->ray_mark = mark;
        gcs_poller_hurry(ray->poller); /* workers that are set up again are hidden from now on */
    }
}

/* ---- opening and closing ---- */

struct setup_scheduler *setup_scheduler_open(const struct setup_scheduler_setup *setup)
{
    struct setup_scheduler *scheduler = HEAP_NEW(struct setup_scheduler);
    scheduler->setup = *setup;
    scheduler->head = setup->head;
    scheduler->late = loop_timer_new(setup->head->session.loop, service_setup_late, scheduler);
    return scheduler;
}

void setup_scheduler_close(struct setup_scheduler *scheduler)
{
    if (scheduler) {
        loop_timer_free(scheduler->late);
        free(scheduler);
    }
}
