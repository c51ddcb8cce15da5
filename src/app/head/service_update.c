/*
 * service_update.c: set-ups of workers: the first ones that the core asks for, and those again that
 * a new handover or a new Ray on the head asks for (worker_past.h).
 *
 * A worker that is set up again counts as not in Ray meanwhile, because its Ray is started anew; so
 * the core waits for it instead of taking it for dead. With --no-restart its Ray goes on.
 */
#include "app/head/service_parts.h"

#include <stdio.h>
#include <string.h>

enum { LATE_MS = 100 }; /* until it is looked again whether Ray has said who is there */

#define PAST_NAME "worker "
#define BEFORE_NAME "ray-before"

/* ---- the journal ---- */

static bool save(struct service *service, const char *name, struct str text)
{
    struct err err = {0};
    bool ok = journal_note(service->journal, name, text, &err);
    if (!ok) { /* at worst it is set up once more */
        LOG(service, WARNING, "%s was not written down: %s", name, err.text);
    }
    return ok;
}

static void save_past(struct service *service, const struct worker_past *past, struct str id)
{
    struct arena arena;
    arena_init(&arena);
    (void)save(service, arena_printf(&arena, PAST_NAME "%.*s", STR_ARG(id)).ptr,
               worker_past_text(past, &arena));
    arena_clear(&arena);
}

static struct worker_past *past_of(struct service *service, const struct worker_machine *machine)
{
    struct worker_past *past = worker_pasts_find(&service->pasts, machine->instance);
    struct arena arena;
    struct str text = STR("");
    struct err err;
    if (past && past->launch == machine->launch) {
        return past;
    }
    past = worker_pasts_add(&service->pasts, machine->instance, machine->launch);
    arena_init(&arena);
    const char *name = arena_printf(&arena, PAST_NAME "%.*s", STR_ARG(machine->id)).ptr;
    if (journal_get(service->journal, name, &arena, &text, &err) && text.ptr) {
        worker_past_read(text, past);
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

void service_note_before(struct service *service, int64_t serial)
{
    struct arena arena;
    arena_init(&arena);
    (void)save(service, BEFORE_NAME,
               arena_printf(&arena, "%lld %s", (long long)serial, service->ray_head));
    arena_clear(&arena);
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
    return ray_mirror_node_id(service->mirror, instance).len > 0;
}

/* Can it be set up at all? */
static bool is_fit(const struct service *service, const struct controlled *controlled)
{
    return !controlled->is_head && controlled->machine && controlled->machine->private_ip.len > 0 &&
           controlled->node && controlled->node->offering < service->core.settings.offering_count;
}

static struct worker_machine machine_of(const struct service *service,
                                        const struct controlled *controlled, struct arena *arena)
{
    const struct machine *machine = controlled->machine;
    uint32_t type = service->core.settings.offerings[controlled->node->offering].type;
    return (struct worker_machine){
        .instance = controlled->instance,
        .launch = controlled->node->launch,
        .name = service_node_name(controlled, arena),
        .id = machine->id,
        .address = machine->private_ip,
        .machine = machine->type,
        .type = &service->config->node_types[type],
        .is_spot = machine->market == MARKET_SPOT,
    };
}

static void find_wanted(const struct service *service, const struct worker_machine *machine,
                        struct worker_past *past)
{
    struct err err;
    if (past->wanted[0] == '\0' &&
        !worker_setups_key(service->setups, machine, past->wanted, &err)) {
        past->wanted[0] = '\0'; /* its set-up says what is wrong */
    }
}

static void begin(struct service *service, struct worker_machine *machine, struct worker_past *past)
{
    machine->run = str_from(past->next_run);
    machine->keeps_ray = past->keeps_ray;
    worker_past_begin(past);
    save_past(service, past, machine->id); /* whoever comes after us knows what was begun */
    worker_setups_begin(service->setups, machine);
}

static void begin_update(struct service *service, struct worker_machine *machine,
                         struct worker_past *past, const struct worker_present *now)
{
    past->is_updating = true;
    past->keeps_ray = now->keeps_ray;
    worker_past_name(past, machine->id, service->handover.serial, now->head);
    LOG(service, INFO, "set up again: %.*s %.*s%s", STR_ARG(machine->name), STR_ARG(machine->id),
        past->keeps_ray ? ", its Ray goes on" : "");
    worker_setups_end(service->setups, machine->instance); /* what is known of the last one */
    begin(service, machine, past);
}

static struct worker_present present_of(const struct service *service, uint64_t instance)
{
    bool is_there = is_in_ray(service, instance);
    return (struct worker_present){
        .head = str_from(service->ray_head),
        .is_in_ray = is_there,
        .keeps_ray = is_there && keeps_ray(service),
    };
}

/* ---- what is outdated ---- */

struct update {
    struct service *service;
    struct arena arena;
    uint64_t *instances;
    size_t count, capacity;
};

static void gather(void *context, const struct controlled *controlled)
{
    struct update *update = context;
    if (is_fit(update->service, controlled)) {
        void *items = update->instances;
        arena_grow(&update->arena, &items, update->count, &update->capacity,
                   sizeof(*update->instances));
        update->instances = items;
        update->instances[update->count++] = controlled->instance;
    }
}

/* Those on their way out are left alone, and those whose machine does not run yet. */
static bool is_living(const struct node *node)
{
    return node->state == NODE_BOOTING || node->state == NODE_SETTING_UP ||
           node->state == NODE_READY || node->state == NODE_IDLE;
}

/* It is in Ray: with what it was set up, if that was not written down, and with which head. */
static void note_joined(struct service *service, struct worker_past *past,
                        const struct controlled *controlled)
{
    if (past->key[0] == '\0') {
        worker_past_begin(past);
        worker_past_end(past, true);
    }
    snprintf(past->head, sizeof(past->head), "%s", service->ray_head);
    save_past(service, past, controlled->machine->id);
    service_happen_joined(service, controlled);
}

static void look_at(struct service *service, const struct controlled *controlled,
                    struct arena *arena)
{
    struct worker_machine machine = machine_of(service, controlled, arena);
    struct worker_past *past = past_of(service, &machine);
    const struct worker_progress *progress = worker_setups_progress(service->setups,
                                                                    controlled->instance);
    struct worker_present now = present_of(service, machine.instance);
    bool is_open = progress && progress->phase != PHASE_JOINING; /* it runs, or has failed */
    if (past->is_updating || is_open || !is_living(controlled->node)) {
        return;
    }
    find_wanted(service, &machine, past);
    if (worker_past_is_outdated(past, &now)) {
        if (!service_waits_for_ray(service)) {
            begin_update(service, &machine, past, &now);
        }
    } else if (now.is_in_ray && strcmp(past->head, service->ray_head) != 0) {
        note_joined(service, past, controlled);
    }
}

static bool can_look(const struct service *service)
{
    return service->controller && service->is_leading && service->is_head_alive &&
           service->has_seen_ray;
}

void service_update(struct service *service)
{
    struct update update = {.service = service};
    if (!can_look(service)) {
        return;
    }
    arena_init(&update.arena);
    controller_each(service->controller, gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct controlled controlled;
        if (controller_find(service->controller, update.instances[i], &controlled) &&
            is_fit(service, &controlled)) {
            look_at(service, &controlled, &update.arena);
        }
    }
    arena_clear(&update.arena);
}

/* ---- what the core asks for ---- */

static void take_as_done(struct service *service, uint64_t instance)
{
    controller_set_up(service->controller, instance, SETUP_CONTACT);
    controller_set_up(service->controller, instance, SETUP_DONE);
    service_tag(service, instance, STR("up-to-date"));
}

/* Right after a start Ray answers, or is about to, and has not said yet who is there. */
static bool is_too_early(const struct service *service)
{
    return !service->has_seen_ray && ray_watch_trouble(service->ray).len == 0;
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
    controller_each(service->controller, gather, &update);
    for (size_t i = 0; i < update.count; i++) {
        struct controlled controlled;
        if (controller_find(service->controller, update.instances[i], &controlled) &&
            controlled.node && controlled.node->state == NODE_BOOTING) {
            service_set_up(service, &controlled);
        }
    }
    arena_clear(&update.arena);
}

void service_set_up(struct service *service, const struct controlled *controlled)
{
    struct arena arena;
    if (!is_fit(service, controlled)) {
        return; /* asked for again when it has an address */
    }
    if (is_too_early(service)) {
        service->has_late = true;
        loop_timer_start(service->late, LATE_MS);
        return;
    }
    arena_init(&arena);
    struct worker_machine machine = machine_of(service, controlled, &arena);
    struct worker_past *past = past_of(service, &machine);
    struct worker_present now = present_of(service, machine.instance);
    bool is_known = worker_setups_progress(service->setups, controlled->instance) != NULL;
    find_wanted(service, &machine, past);
    bool is_changed = past->key[0] != '\0' && strcmp(past->key, past->wanted) != 0;
    if (is_known) {
        worker_setups_begin(service->setups, &machine); /* tells again what has become of it */
    } else if (now.is_in_ray) {
        /* After a restart of this service all workers are new to the core. */
        take_as_done(service, controlled->instance);
    } else if (!is_changed) { /* else Ray is waited for: it decides what is to be done */
        past->is_updating = past->key[0] != '\0' && !past->is_done; /* it is gone on with */
        past->keeps_ray = past->kept_ray;
        worker_past_name(past, machine.id, 0, STR(""));
        if (past->is_done && past->run[0] != '\0') { /* its node knows that it was */
            memcpy(past->next_run, past->run, sizeof(past->next_run));
        }
        begin(service, &machine, past);
    }
    if (can_look(service)) {
        look_at(service, controlled, &arena);
    }
    arena_clear(&arena);
}

/* ---- what becomes of them ---- */

void service_set_up_news(struct service *service, uint64_t instance, enum setup_news news)
{
    struct worker_past *past = worker_pasts_find(&service->pasts, instance);
    struct controlled controlled;
    if (!past || news == SETUP_CONTACT) {
        return;
    }
    worker_past_end(past, news == SETUP_DONE);
    if (service->controller && controller_find(service->controller, instance, &controlled) &&
        controlled.machine) {
        if (!past->kept_ray) { /* else it is known when it is seen there */
            bool is_there = is_in_ray(service, instance);
            if (is_there && strcmp(past->head, service->ray_head) != 0) {
                service_happen_joined(service, &controlled);
            }
            snprintf(past->head, sizeof(past->head), "%s", is_there ? service->ray_head : "");
        }
        save_past(service, past, controlled.machine->id);
    }
    service->ray_mark = 0; /* whoever is in Ray already is looked at again */
}

bool service_had_joined(struct service *service, uint64_t instance)
{
    struct controlled controlled;
    struct arena arena;
    struct str head = ray_mirror_head(service->mirror);
    if (!service->controller || !controller_find(service->controller, instance, &controlled) ||
        !is_fit(service, &controlled) || !life_table[controlled.node->state].is_pending) {
        return false;
    }
    arena_init(&arena);
    struct worker_machine machine = machine_of(service, &controlled, &arena);
    const struct worker_past *past = past_of(service, &machine);
    arena_clear(&arena);
    return past->is_done && !past->is_updating && head.len > 0 && str_is(head, past->head);
}

bool service_is_updating(const struct service *service, uint64_t instance, bool *ret_keeps_ray)
{
    const struct worker_past *past = worker_pasts_find(&service->pasts, instance);
    *ret_keeps_ray = past && past->keeps_ray;
    return past && past->is_updating;
}
