/*
 * trainer_ray.c: slots as Ray jobs, and what Ray's nodes mean for them.
 *
 * Ray places the slots. A slot is submitted only if Ray has room for it now, because a pending Ray
 * job cannot be withdrawn. Nodes that drain or die are seen in the GCS, long before a connection
 * times out.
 */
#include "app/program.h"
#include "app/train/store_place.h"
#include "app/train/trainer_internal.h"
#include "base/encode.h"
#include "base/require.h"
#include "io/mac.h"
#include "ray/gcs_access.h"
#include "ray/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 1000,
    DRAIN_MS = 120 * 1000, /* the longest notice; assumed if Ray knows no deadline */
    STOP_EXTRA_S = 10,
    WHY_BYTES_MAX = 500,
};

/* ---- nodes ---- */

struct node_scan {
    struct trainer *trainer;
    int64_t room;
};

static double amount_of(const struct ray_quantity *items, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(items[i].name, name)) {
            return items[i].amount;
        }
    }
    return 0;
}

/* How many more slots fit on the node. */
static int64_t node_room(const struct trainer_setup *setup, const struct ray_node_detail *node)
{
    double room = TRAIN_SLOTS_MAX;
    if (setup->cpus > 0) {
        room = fmin(room, amount_of(node->available, node->available_count, "CPU") / setup->cpus);
    }
    if (setup->gpus > 0) {
        room = fmin(room, amount_of(node->available, node->available_count, "GPU") / setup->gpus);
    }
    return (int64_t)floor(room + 1e-6);
}

/* Ray has no such slot any more. */
static void lose_slot(struct trainer *trainer, uint32_t slot)
{
    trainer_event(trainer, (struct train_event){.kind = TRAIN_LOST, .slot = slot});
    struct slot_link *link = trainer_slot(trainer, slot);
    if (link && !train_job_slot(&trainer->job, slot)) {
        trainer_hang_up(link);
        link->slot = 0;
    }
}

/* Calls the core for each slot of a node. */
static void node_slots(struct trainer *trainer, const char *node, struct train_event event)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        struct slot_link *link = &trainer->slots[i];
        const struct train_slot *slot = train_job_slot(&trainer->job, link->slot);
        if (!slot || strcmp(link->node, node) != 0) {
            continue;
        }
        if (event.kind == TRAIN_NOTICE && slot->deadline != event.value) {
            trainer_say(trainer, "node %.8s is draining: slot %u must leave within %" PRId64 " s",
                        node, link->slot, (event.value - loop_now_ms(trainer->loop)) / 1000);
        }
        event.slot = link->slot;
        if (event.kind == TRAIN_LOST) {
            lose_slot(trainer, link->slot);
        } else {
            trainer_event(trainer, event);
        }
    }
}

/* Ray's deadline in wall time becomes monotonic time. Without one, a spot notice is assumed. */
static void trainer_on_draining(void *context, const struct gcs_answer *answer,
                                const struct gcs_draining *nodes, size_t count)
{
    struct trainer *trainer = context;
    int64_t wall = clock_wall_ms(loop_clock(trainer->loop));
    trainer->is_asking_draining = false;
    for (size_t i = 0; answer->trouble == GCS_FINE && i < count; i++) {
        int64_t left = nodes[i].deadline_ms > wall ? nodes[i].deadline_ms - wall : 0;
        left = nodes[i].deadline_ms == 0 || left > DRAIN_MS ? DRAIN_MS : left;
        node_slots(
            trainer, nodes[i].id.ptr,
            (struct train_event){.kind = TRAIN_NOTICE, .value = loop_now_ms(trainer->loop) + left});
    }
}

/* A slot on a draining node that the core does not know about yet. */
static bool is_news(struct trainer *trainer, const char *node)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = train_job_slot(&trainer->job, trainer->slots[i].slot);
        if (slot && slot->deadline < 0 && strcmp(trainer->slots[i].node, node) == 0) {
            return true;
        }
    }
    return false;
}

static void scan_lost_node(struct trainer *trainer, const struct ray_node_summary *node)
{
    char name[TRAINER_NODE_SIZE];
    struct gcs *gcs = gcs_poller_gcs(trainer->poller);
    require(node->id.len == RAY_ID_BYTES, "nodes with other ids are skipped");
    encode_hex_to(name, (const uint8_t *)node->id.ptr, RAY_ID_BYTES);
    if (node->status == RAY_NODE_DEAD) {
        node_slots(trainer, name, (struct train_event){.kind = TRAIN_LOST});
    } else if (gcs && !trainer->is_asking_draining && is_news(trainer, name)) {
        trainer->is_asking_draining = true;
        gcs_list_draining(gcs, trainer_on_draining, trainer);
    }
}

static void scan_node(void *context, const struct ray_node_summary *node)
{
    struct node_scan *scan = context;
    struct trainer *trainer = scan->trainer;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct ray_node_detail detail;
    struct err err;
    bool is_usable = node->status == RAY_NODE_RUNNING || node->status == RAY_NODE_IDLE;
    if (!is_usable) {
        scan_lost_node(trainer, node);
        return;
    }
    if (!ray_node_read(node->bytes, &arena, &detail, &err)) {
        return;
    }
    scan->room += node_room(trainer->setup, &detail);
    if (detail.is_head && trainer->host[0] == '\0') {
        snprintf(trainer->host, sizeof(trainer->host), "%.*s", STR_ARG(detail.address));
    }
}

static bool trainer_on_state(void *context, struct str bytes, int64_t asked_at_ms, struct err *err)
{
    struct trainer *trainer = context;
    struct node_scan scan = {.trainer = trainer};
    struct ray_state state;
    (void)asked_at_ms;
    if (!ray_state_pass(bytes, scan_node, &scan, &state, err)) {
        return false;
    }
    trainer_demand_session(trainer->demand, state.session);
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) { /* submitted, but perhaps not placed yet */
        scan.room -= trainer->job.slots[i].state == TRAIN_SLOT_PENDING;
    }
    bool is_waiting = slot_backoff_is_waiting(&trainer->backoff, loop_now_ms(trainer->loop));
    if (trainer->host[0] != '\0' && !is_waiting) {
        trainer_event(trainer, (struct train_event){.kind = TRAIN_ROOM,
                                                    .value = scan.room > 0 ? scan.room : 0});
    }
    return true;
}

/* While Ray does not answer, the last known state is used. */
static void trainer_on_change(void *context)
{
    struct trainer *trainer = context;
    struct str trouble = gcs_poller_trouble(trainer->poller);
    if (trouble.len > 0) {
        trainer_say(trainer, "Ray's GCS at %s does not answer: %.*s", trainer->setup->gcs,
                    STR_ARG(trouble));
    }
}

static void trainer_on_replaced(void *context)
{
    (void)context; /* the slots of the old cluster are lost by their connections */
}

static void trainer_on_closing(void *context)
{
    struct trainer *trainer = context;
    trainer->is_asking_draining = false; /* its answer will not come */
}

/* ---- jobs ---- */

struct str trainer_slot_prefix(const char *job, struct str token, struct arena *arena)
{
    char mac[MAC_TEXT_SIZE];
    mac_sha256(token, STR("name"), mac);
    return arena_printf(arena, "shoal-train-%s-%.8s-s", job, mac);
}

static struct str slot_prefix(const struct trainer *trainer, struct arena *arena)
{
    return trainer_slot_prefix(trainer->setup->job, str_from(trainer->token), arena);
}

static struct str slot_name(const struct trainer *trainer, uint32_t slot, struct arena *arena)
{
    return arena_printf(arena, "%.*s%u", STR_ARG(slot_prefix(trainer, arena)), slot);
}

struct submission {
    struct trainer *trainer;
    uint32_t slot;
};

/* After a failure: no more slots for a while. */
static void pause_submissions(struct trainer *trainer, uint32_t slot, bool was_ready,
                              struct str why)
{
    struct slot_backoff *backoff = &trainer->backoff;
    bool is_counted = slot_backoff_failed(backoff, slot, trainer->job.last_slot, was_ready,
                                          loop_now_ms(trainer->loop));
    if (is_counted && backoff->failures > SLOT_BACKOFF_QUIET) {
        trainer_say(
            trainer,
            "slots ended before they were ready, %" PRId64 " times in a row. The reason for "
            "the last one: %.*s. The next one starts in %" PRId64 " s. To see the output: "
            "shoal train logs %s",
            backoff->failures, STR_ARG(why), slot_backoff_ms(backoff) / 1000, trainer->setup->job);
    }
    trainer_event(trainer, (struct train_event){.kind = TRAIN_ROOM});
}

static void on_submitted(void *context, bool is_new, const struct err *err)
{
    struct submission *submission = context;
    (void)is_new;
    if (err) {
        trainer_say(submission->trainer, "Ray refused slot %u: %s", submission->slot, err->text);
        pause_submissions(submission->trainer, submission->slot, false, str_from(err->text));
        lose_slot(submission->trainer, submission->slot);
    }
}

static struct slot_link *free_link(struct trainer *trainer)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        if (trainer->slots[i].slot == 0) {
            return &trainer->slots[i];
        }
    }
    return NULL;
}

void trainer_submit(struct trainer *trainer, uint32_t slot)
{
    const struct trainer_setup *setup = trainer->setup;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct slot_link *link = free_link(trainer);
    struct submission *submission = ARENA_NEW(&trainer->arena, struct submission);
    if (!link) {
        return; /* the core has as many entries as the trainer */
    }
    *link = (struct slot_link){.slot = slot};
    *submission = (struct submission){trainer, slot};
    struct jobs_pair env[] = {
        {STR("SHOAL_TRAIN_HOST"), str_from(trainer->host)},
        {STR("SHOAL_TRAIN_PORT"), arena_printf(&arena, "%u", trainer->port)},
        {STR("SHOAL_TRAIN_TOKEN"), str_from(trainer->token)},
        {STR("SHOAL_TRAIN_JOB"), str_from(setup->job)},
        {STR("SHOAL_TRAIN_ID"), str_from(trainer->id)},
        {STR("SHOAL_TRAIN_SLOT"), arena_printf(&arena, "%u", slot)},
        {STR(TRAIN_REGION_VARIABLE), str_from(getenv(TRAIN_REGION_VARIABLE))},
        {STR("RAY_JOB_STOP_WAIT_TIME_S"),
         arena_printf(&arena, "%" PRId64,
                      setup->settings.checkpoint_timeout / 1000 + STOP_EXTRA_S)},
    };
    struct jobs_pair metadata[] = {{STR("shoal_train_job"), str_from(setup->job)}};
    jobs_submit(trainer->jobs,
                &(struct jobs_request){
                    .submission_id = slot_name(trainer, slot, &arena),
                    .entrypoint = arena_printf(&arena, "exec %s node train-agent", setup->program),
                    .num_cpus = setup->cpus,
                    .num_gpus = setup->gpus,
                    .env_vars = env,
                    .env_var_count = ARRAY_LEN(env),
                    .metadata = metadata,
                    .metadata_count = ARRAY_LEN(metadata),
                },
                on_submitted, submission);
}

static void on_slot_stopped(void *context, bool has_acted, const struct err *err)
{
    (void)context;
    (void)has_acted;
    (void)err; /* the agent ends by itself too */
}

void trainer_end_slot(struct trainer *trainer, uint32_t slot)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct slot_link *link = trainer_slot(trainer, slot);
    if (!link) {
        return;
    }
    bool is_connected = link->link != NULL;
    trainer_send(link, trainer_message("leave", 0));
    if (!is_connected) { /* a connected agent ends by itself, and removes its files */
        jobs_stop(trainer->jobs, slot_name(trainer, slot, &arena), on_slot_stopped, trainer);
    }
    link->slot = 0;
}

/* A slot's Ray job: where it runs, and whether it has ended. */
static void take_job(struct trainer *trainer, const struct jobs_job *job, struct slot_link *link)
{
    if (job->node_id.len > 0 && job->node_id.len < TRAINER_NODE_SIZE) {
        snprintf(link->node, sizeof(link->node), "%.*s", STR_ARG(job->node_id));
        snprintf(link->host, sizeof(link->host), "%.*s", STR_ARG(job->node_host));
        const struct train_slot *slot = train_job_slot(&trainer->job, link->slot);
        int64_t node = (int64_t)(str_hash(job->node_id) >> 1);
        if (slot && slot->node != node) {
            trainer_event(trainer, (struct train_event){
                                       .kind = TRAIN_PLACED, .slot = link->slot, .value = node});
        }
    }
    if (jobs_status_is_final(job->status) && !link->link) {
        trainer_say(trainer, "slot %u ended: %.*s", link->slot, STR_ARG(job->message));
        pause_submissions(trainer, link->slot, link->is_prepared,
                          str_sub(job->message, 0, WHY_BYTES_MAX));
        lose_slot(trainer, link->slot);
    } else if (link->is_prepared && link->host[0] != '\0') {
        trainer_event(trainer, (struct train_event){.kind = TRAIN_PREPARED, .slot = link->slot});
    }
}

static void on_jobs(void *context, const struct jobs_list *list, const struct err *err)
{
    struct trainer *trainer = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    size_t prefix = slot_prefix(trainer, &arena).len;
    loop_timer_start(trainer->look, LOOK_MS);
    if (err && !trainer->has_jobs_error) {
        trainer_say(trainer,
                    "Ray at %s does not answer, trying again: %s. If Ray does not run on "
                    "this machine, name the cluster file",
                    trainer->setup->ray, err->text);
    }
    trainer->has_jobs_error = err != NULL;
    for (size_t i = 0; !err && i < list->count; i++) {
        struct str id = list->jobs[i].submission_id;
        uint32_t number = 0;
        bool is_slot = str_to_u32(str_sub(id, prefix, id.len), &number);
        struct slot_link *link = is_slot ? trainer_slot(trainer, number) : NULL;
        if (link) {
            take_job(trainer, &list->jobs[i], link);
        }
    }
}

void trainer_look(void *context)
{
    struct trainer *trainer = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    jobs_list(trainer->jobs, slot_prefix(trainer, &arena), on_jobs, trainer);
}

bool trainer_open_ray(struct trainer *trainer, struct err *err)
{
    const struct trainer_setup *setup = trainer->setup;
    char server[JOBS_SERVER_SIZE];
    struct gcs_setup gcs = {0};
    struct arena secrets;
    arena_init_secret(&secrets);
    struct gcs_access access = gcs_access_find(setup->gcs, &secrets);
    if (!jobs_address_parse(str_from(setup->ray), server, err) ||
        !gcs_access_apply(&access, setup->gcs, &secrets, &gcs, err)) {
        arena_clear(&secrets);
        return false;
    }
    trainer->jobs = jobs_open(&(struct jobs_setup){
        .http = trainer->http, .server = server, .token = gcs.token, .is_direct = true});
    arena_clear(&secrets);
    trainer->poller = gcs_poller_open(&(struct gcs_poller_setup){
        .loop = trainer->loop,
        .http = trainer->http,
        .address = str_from(setup->gcs),
        .hooks = {.context = trainer,
                  .seen = trainer_on_state,
                  .changed = trainer_on_change,
                  .replaced = trainer_on_replaced,
                  .closing = trainer_on_closing},
    });
    return true;
}
