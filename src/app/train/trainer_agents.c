/*
 * trainer_agents.c: the connections of agents.
 *
 * A connection must prove that it knows the job's token before anything else. A slot has one
 * connection: a new one replaces the old one.
 */
#include "app/train/agent_report.h"
#include "app/train/trainer_internal.h"
#include "io/mac.h"
#include "io/xalloc.h"

#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES = 1 << 20, SOURCES_BYTES = 32 * 1024 };
enum { OUTPUT_BYTES = 64 * 1024, STORE_MS = 10 * 60 * 1000 };
enum { SAVE_CHARS = 16 };
enum { STRANGERS_MAX = 64, HELLO_MS = 10 * 1000, EXPIRE_MS = 250 };

/* A connection, before or after it has proven that it knows the token. */
struct caller {
    struct trainer *trainer;
    struct line_link *link;
    uint32_t slot; /* 0: not yet */
    char nonce[MAC_TEXT_SIZE];
    int64_t since;
    struct caller *next;  /* among those that have proven nothing; the newest is first */
    struct caller *older; /* of all connections */
};

json_t *trainer_message(const char *type, int64_t generation)
{
    json_t *message = json_object();
    json_put_text(message, "type", str_from(type));
    json_put_number(message, "generation", generation);
    return message;
}

static void link_send(struct line_link *link, json_t *message)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES);
    json_put_out(message, true, &line);
    if (link && !line.is_full) {
        line_link_write(link, buf_str(&line));
    }
}

static void caller_free(struct caller *caller)
{
    struct caller **place = &caller->trainer->callers;
    while (*place != caller) {
        place = &(*place)->older;
    }
    *place = caller->older;
    free(caller);
}

void trainer_close_agents(struct trainer *trainer)
{
    line_server_close(trainer->server); /* hooks are not called any more */
    loop_timer_free(trainer->expire);
    trainer->expire = NULL;
    trainer->strangers = NULL;
    while (trainer->callers) {
        caller_free(trainer->callers);
    }
}

void trainer_hang_up(struct slot_link *slot)
{
    if (slot->link) {
        line_link_close(slot->link);
        caller_free(slot->caller); /* its hooks are not called any more */
        slot->link = NULL;
        slot->caller = NULL;
    }
}

void trainer_send(struct slot_link *slot, json_t *message)
{
    link_send(slot ? slot->link : NULL, message);
}

/* ---- messages of agents ---- */

static struct train_event slot_event(uint32_t slot, enum train_event_kind kind,
                                     const struct agent_report *report)
{
    return (struct train_event){
        .kind = kind,
        .slot = slot,
        .generation = report->generation,
        .code = report->code,
        .signal = report->signal,
        .parts = report->parts,
    };
}

static void take_counts(struct trainer *trainer, const struct slot_link *slot,
                        const struct agent_report *report)
{
    const struct train_slot *known = train_job_slot(&trainer->job, slot->slot);
    if (known && known->rank >= 0 && report->generation == trainer->job.generation) {
        trainer_report_counts(trainer, &report->counts, known->rank == 0);
        if (known->rank == 0) {
            trainer_measure(trainer, &report->counts);
        }
    }
}

static void take_steps(struct trainer *trainer, struct slot_link *slot,
                       const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_STEPPED, report);
    event.value = report->counts.steps;
    take_counts(trainer, slot, report);
    trainer_event(trainer, event);
}

static void take_returned(struct trainer *trainer, struct slot_link *slot,
                          const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_RETURNED, report);
    event.value = report->checkpoint;
    slot->free_port = report->port;
    take_counts(trainer, slot, report);
    bool has_failed = event.signal != 0 || (event.code != 0 && event.code != 143);
    if (has_failed && report->tail.len > 0 && trainer->job.phase == TRAIN_RUNNING &&
        event.generation == trainer->job.generation) {
        trainer_say(trainer, "the last output of slot %u:\n%.*s", slot->slot,
                    STR_ARG(report->tail));
    }
    train_progress_saved(&trainer->progress, event.value);
    trainer_event(trainer, event);
}

static void take_checkpoint(struct trainer *trainer, struct slot_link *slot,
                            const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_CHECKPOINT, report);
    event.value = report->number;
    train_progress_saved(&trainer->progress, event.value);
    trainer_event(trainer, event);
}

/* The slot's Ray job was stopped, for example with `ray job stop`. */
static void take_leaving(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_NOTICE, report);
    event.value = loop_now_ms(trainer->loop) + trainer->setup->settings.checkpoint_timeout;
    trainer_event(trainer, event);
}

static void take_prepared(struct trainer *trainer, struct slot_link *slot,
                          const struct agent_report *report)
{
    slot->is_prepared = true;
    slot_backoff_ready(&trainer->backoff);
    if (slot->host[0] != '\0') { /* else when Ray has said where it is */
        trainer_event(trainer, slot_event(slot->slot, TRAIN_PREPARED, report));
    }
}

/* The newest checkpoint of which the slot has all parts. */
static void take_complete(struct trainer *trainer, struct slot_link *slot,
                          const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_CHECKPOINT, report);
    event.value = report->complete;
    event.parts = 0;
    if (event.value > 0) {
        trainer_event(trainer, event);
    }
}

static void take_started(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    const struct train_slot *known = train_job_slot(&trainer->job, slot->slot);
    slot->free_port = report->port;
    if (known && known->rank == 0) {
        trainer->times.load_ms = report->load_ms;
    }
    take_complete(trainer, slot, report); /* what it has loaded */
}

static void take_not_copied(struct trainer *trainer, struct slot_link *slot,
                            const struct agent_report *report)
{
    trainer_say(trainer,
                "slot %u cannot fetch a second copy of the checkpoint: %.*s; it tries again",
                slot->slot, STR_ARG(str_sub(report->reason, 0, 500)));
    trainer_event(trainer, slot_event(slot->slot, TRAIN_NOT_COPIED, report));
}

/* A checkpoint is in the durable store, or one in it is damaged. */
static void take_durable(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_DURABLE, report);
    event.value = report->number;
    event.bad = report->bad;
    event.highest = report->highest;
    if (event.bad > 0) {
        trainer_say(trainer,
                    "checkpoint %" PRId64 " in %s is damaged: %.*s. Checkpoint %" PRId64
                    " is used instead",
                    event.bad, trainer->setup->output ? trainer->setup->output : "the store",
                    STR_ARG(str_sub(report->reason, 0, 500)), event.value);
    }
    trainer->has_output = true;
    trainer_event(trainer, event);
    trainer_check_durable(trainer, event.value);
}

static void take_trouble(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    trainer_say(trainer, "slot %u: %.*s: %.*s", slot->slot, STR_ARG(report->what),
                STR_ARG(report->reason));
}

static bool has_ready_slot(const struct train_job *job)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        if (job->slots[i].state >= TRAIN_SLOT_READY) {
            return true;
        }
    }
    return false;
}

/* --output belongs to another job. Before anything runs this one ends: it would begin from zero, or
 * from what is not its own. Later, its slots keep their checkpoints, and try again. */
static void take_foreign(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    take_trouble(trainer, slot, report);
    if (!has_ready_slot(&trainer->job) && trainer->refusal.kind == ERR_NONE) {
        err_set(&trainer->refusal, ERR_EXISTS, "%.*s", STR_ARG(str_sub(report->reason, 0, 500)));
        trainer_stop(trainer);
    }
}

typedef void take_fn(struct trainer *trainer, struct slot_link *slot,
                     const struct agent_report *report);

static take_fn *const takers[AGENT_REPORT_KINDS] = {
    [AGENT_STEPS] = take_steps,           [AGENT_RETURNED] = take_returned,
    [AGENT_CHECKPOINT] = take_checkpoint, [AGENT_PREPARED] = take_prepared,
    [AGENT_STARTED] = take_started,       [AGENT_LEAVING] = take_leaving,
    [AGENT_NOT_COPIED] = take_not_copied, [AGENT_DURABLE] = take_durable,
    [AGENT_TROUBLE] = take_trouble,       [AGENT_FOREIGN] = take_foreign,
};

/* ---- connections that have proven nothing ---- */

static void stranger_remove(struct caller *caller)
{
    struct caller **place = &caller->trainer->strangers;
    while (*place && *place != caller) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = caller->next;
    }
}

/* Others must not fill the memory or keep agents out: the oldest ones are closed first. */
static void strangers_expire(void *context)
{
    struct trainer *trainer = context;
    size_t count = 0;
    int64_t now = loop_now_ms(trainer->loop);
    for (struct caller **place = &trainer->strangers; *place;) {
        struct caller *caller = *place;
        count++;
        if (count > STRANGERS_MAX || now - caller->since >= HELLO_MS) {
            *place = caller->next;
            line_link_close(caller->link);
            caller_free(caller);
        } else {
            place = &caller->next;
        }
    }
    if (trainer->strangers) {
        loop_timer_start(trainer->expire, EXPIRE_MS);
    }
}

/* ---- the first message ---- */

/* Proves to the agent that this is its trainer. */
static void put_proof(struct trainer *trainer, json_t *message, uint32_t slot,
                      const struct agent_report *report)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct str text = arena_printf(&arena, "trainer %u %.*s", slot, STR_ARG(report->nonce));
    mac_sha256(str_from(trainer->token), text, mac);
    json_put_text(message, "mac", str_from(mac));
}

static void send_welcome(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    const struct trainer_setup *setup = trainer->setup;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *welcome = trainer_message("welcome", 0);
    json_t *args = json_array();
    for (size_t i = 0; i < setup->arg_count; i++) {
        json_array_append_new(args, json_string_nocheck(setup->args[i]));
    }
    json_object_set_new(welcome, "args", args);
    json_put_text(welcome, "kind", str_from(script_traits[setup->kind].name));
    json_put_text(welcome, "python", str_from(setup->python));
    json_put_text(welcome, "script", str_from(setup->script));
    json_put_text(welcome, "code",
                  arena_printf(&arena, "%s:%u", trainer->host, trainer->code_port));
    json_put_text(welcome, "output", str_from(setup->output));
    json_put_number(welcome, "keep", setup->keep);
    json_put_text(welcome, "prepare", str_from(setup->prepare));
    json_put_flag(welcome, "adopt",
                  (setup->is_adopting || trainer->is_old_owner) && !trainer->has_output);
    json_put_flag(welcome, "warm_cuda", setup->is_cuda_warm);
    put_proof(trainer, welcome, slot->slot, report);
    trainer_send(slot, welcome);
}

static bool hello_is_genuine(const struct caller *caller, uint32_t slot,
                             const struct agent_report *report)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct str text = arena_printf(&arena, "agent %u %s", slot, caller->nonce);
    mac_sha256(str_from(caller->trainer->token), text, mac);
    return mac_is_equal(str_from(mac), report->mac);
}

/* What happened while there was no connection. */
static void report_hello(struct trainer *trainer, struct slot_link *slot,
                         const struct agent_report *report)
{
    struct train_event event = slot_event(slot->slot, TRAIN_CONNECTED, report);
    event.value = report->checkpoint;
    if (report->number > 0 || report->highest > 0) {
        take_durable(trainer, slot, report);
    }
    trainer_event(trainer, event);
    take_complete(trainer, slot, report);
    if (report->is_prepared) {
        take_prepared(trainer, slot, report);
    }
    if (report->is_running) {
        event = slot_event(slot->slot, TRAIN_ADOPTED, report);
        event.value = report->rank;
        if (event.generation != trainer->job.generation) {
            trainer_send(slot, trainer_message("kill", event.generation)); /* an old one */
        }
        trainer_event(trainer, event);
    } else if (report->is_returned) {
        take_returned(trainer, slot, report);
    }
}

static void take_hello(struct caller *caller, const struct agent_report *report)
{
    struct trainer *trainer = caller->trainer;
    stranger_remove(caller);
    uint32_t id = report->slot;
    struct slot_link *slot = trainer_slot(trainer, id);
    if (!hello_is_genuine(caller, id, report)) {
        line_link_finish(caller->link);
        trainer_say(trainer, "refused a connection that does not know the job's token");
        caller_free(caller);
        return;
    }
    if (!slot || !train_job_slot(&trainer->job, id)) {
        json_t *leave = trainer_message("leave", 0); /* not needed any more */
        /* It was given up while it had no connection, and may have the newest checkpoint. */
        json_put_flag(leave, "keep", !train_job_is_over(&trainer->job));
        put_proof(trainer, leave, id, report);
        link_send(caller->link, leave);
        line_link_finish(caller->link);
        caller_free(caller);
        return;
    }
    caller->slot = id;
    trainer_hang_up(slot);
    slot->link = caller->link;
    slot->caller = caller;
    slot->state_port = report->state_port;
    slot->free_port = report->port;
    send_welcome(trainer, slot, report);
    report_hello(trainer, slot, report);
}

/* ---- connections ---- */

static void caller_on_line(void *context, struct str line)
{
    struct caller *caller = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct agent_report report;
    struct err err;
    if (!agent_report_read(line, &arena, &report, &err)) {
        return;
    }
    struct slot_link *slot = trainer_slot(caller->trainer, caller->slot);
    if (caller->slot == 0 && report.kind == AGENT_HELLO) {
        take_hello(caller, &report);
    } else if (slot && slot->link == caller->link && takers[report.kind]) {
        takers[report.kind](caller->trainer, slot, &report);
    }
}

static void caller_on_ended(void *context, const struct err *err)
{
    struct caller *caller = context;
    struct trainer *trainer = caller->trainer;
    struct slot_link *slot = trainer_slot(trainer, caller->slot);
    (void)err;
    stranger_remove(caller);
    if (slot && slot->link == caller->link) {
        slot->link = NULL;
        slot->caller = NULL;
        trainer_event(trainer, (struct train_event){.kind = TRAIN_SILENT, .slot = slot->slot});
    }
    line_link_close(caller->link);
    caller_free(caller);
}

static void trainer_on_caller(void *context, struct line_link *link)
{
    struct caller *caller = HEAP_NEW(struct caller);
    caller->trainer = context;
    caller->link = link;
    caller->since = loop_now_ms(caller->trainer->loop);
    caller->next = caller->trainer->strangers;
    caller->trainer->strangers = caller;
    caller->older = caller->trainer->callers;
    caller->trainer->callers = caller;
    mac_random(caller->nonce);
    line_link_begin(link, &(struct line_link_hooks){
                              .context = caller, .line = caller_on_line, .ended = caller_on_ended});
    json_t *challenge = trainer_message("challenge", 0);
    json_put_text(challenge, "nonce", str_from(caller->nonce));
    link_send(link, challenge);
    strangers_expire(caller->trainer);
}

bool trainer_listen(struct trainer *trainer, struct err *err)
{
    if (!line_server_open_tcp(trainer->loop, "0.0.0.0", trainer->port, NULL, trainer_on_caller,
                              trainer, &trainer->server, err)) {
        return false;
    }
    trainer->port = line_server_port(trainer->server);
    trainer->expire = loop_timer_new(trainer->loop, strangers_expire, trainer);
    return true;
}

/* ---- starting replicas ---- */

void trainer_add_sources(struct trainer *trainer, int64_t checkpoint, struct buf *out)
{
    if (checkpoint > 0 && checkpoint == trainer->job.stored) {
        buf_addf(out, "%s:%u", trainer->host, trainer->code_port);
    }
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &trainer->job.slots[i];
        const struct slot_link *link = trainer_slot(trainer, slot->id);
        bool has = slot->checkpoint == checkpoint || slot->part == checkpoint;
        if (slot->state != TRAIN_SLOT_NONE && has && link && link->link && link->host[0] != '\0') {
            buf_addf(out, "%s%s:%" PRId64, out->len > 0 ? "," : "", link->host, link->state_port);
        }
    }
}

static void put_sources(struct trainer *trainer, json_t *message, int64_t checkpoint)
{
    AUTO_BUF struct buf sources;
    buf_init(&sources, SOURCES_BYTES);
    json_put_number(message, "checkpoint", checkpoint);
    json_put_number(message, "parts", train_job_parts(&trainer->job, checkpoint));
    if (checkpoint > 0) {
        trainer_add_sources(trainer, checkpoint, &sources);
        json_put_flag(message, "is_durable",
                      sources.len == 0 && checkpoint == trainer->job.durable);
        json_put_text(message, "sources", buf_str(&sources));
    }
}

/* The place of a replica among the nodes and among the replicas of its node. */
struct node_place {
    int64_t node_rank, nodes, local_rank, local_world;
};

static struct node_place find_place(struct trainer *trainer, int64_t rank)
{
    const char *nodes[TRAIN_SLOTS_MAX] = {0}; /* by rank */
    struct node_place place = {0};
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &trainer->job.slots[i];
        const struct slot_link *link = trainer_slot(trainer, slot->id);
        if (slot->state == TRAIN_SLOT_RUNNING && slot->rank >= 0 && link) {
            nodes[slot->rank] = link->node;
        }
    }
    for (int64_t i = 0; i < trainer->job.world && nodes[i]; i++) {
        bool is_first = true;
        for (int64_t j = 0; j < i; j++) {
            is_first = is_first && strcmp(nodes[i], nodes[j]) != 0;
        }
        bool is_same = nodes[rank] && strcmp(nodes[i], nodes[rank]) == 0;
        place.node_rank += is_first && place.local_world == 0 && !is_same;
        place.nodes += is_first;
        place.local_rank += is_same && i < rank;
        place.local_world += is_same;
    }
    return place;
}

static const struct slot_link *find_rank_0(struct trainer *trainer)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &trainer->job.slots[i];
        if (slot->state == TRAIN_SLOT_RUNNING && slot->rank == 0) {
            return trainer_slot(trainer, slot->id);
        }
    }
    return NULL;
}

/* All replicas of a generation get the same one. */
static struct str save_of(struct trainer *trainer, int64_t generation)
{
    if (trainer->save_generation != generation) {
        trainer->save_generation = generation;
        mac_random(trainer->save);
    }
    return (struct str){trainer->save, SAVE_CHARS};
}

void trainer_start_replica(struct trainer *trainer, const struct train_action *action)
{
    const struct slot_link *master = find_rank_0(trainer);
    json_t *message = trainer_message("start", action->generation);
    struct node_place place = find_place(trainer, action->rank);
    json_put_number(message, "rank", action->rank);
    json_put_number(message, "world", action->world);
    json_put_number(message, "local_rank", place.local_rank);
    json_put_number(message, "local_world", place.local_world);
    json_put_number(message, "node_rank", place.node_rank);
    json_put_number(message, "nodes", place.nodes);
    json_put_text(message, "master_host", str_from(master ? master->host : ""));
    json_put_number(message, "master_port", master ? master->free_port : 0);
    json_put_text(message, "save", save_of(trainer, action->generation));
    trainer_put_supervisor(trainer, message);
    put_sources(trainer, message, action->checkpoint);
    trainer_send(trainer_slot(trainer, action->slot), message);
}

void trainer_replicate(struct trainer *trainer, const struct train_action *action)
{
    json_t *message = trainer_message("replicate", 0);
    put_sources(trainer, message, action->checkpoint);
    trainer_send(trainer_slot(trainer, action->slot), message);
}

/* ---- the checkpoint on this machine ---- */

void trainer_store_checkpoint(struct trainer *trainer, int64_t checkpoint, child_done_fn *done)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf sources;
    buf_init(&sources, SOURCES_BYTES);
    trainer_add_sources(trainer, checkpoint, &sources);
    int64_t parts = train_job_parts(&trainer->job, checkpoint);
    const char *argv[] = {trainer->program,
                          "node",
                          "train-load",
                          "--folder",
                          trainer->setup->folder,
                          "--checkpoint",
                          arena_printf(&arena, "%" PRId64, checkpoint).ptr,
                          "--from",
                          arena_str(&arena, buf_str(&sources)).ptr,
                          "--durable",
                          parts > 0 ? "--parts" : NULL,
                          arena_printf(&arena, "%" PRId64, parts).ptr,
                          NULL};
    const char *env[] = {arena_printf(&arena, "SHOAL_TRAIN_TOKEN=%s", trainer->token).ptr, NULL};
    child_start(trainer->pool, &(struct child_spec){
                                   .argv = argv,
                                   .env_extra = env,
                                   .output = {{OUTPUT_BYTES}, {OUTPUT_BYTES}},
                                   .deadline_ms = STORE_MS,
                                   .done = done,
                                   .context = trainer,
                               });
}

static void on_stored_now(void *context, const struct child_result *result)
{
    struct trainer *trainer = context;
    int64_t number = trainer->job.storing;
    if (!child_was_fine(result)) {
        trainer_say(trainer,
                    "cannot copy checkpoint %" PRId64 " to this machine: %s: %.*s; it is "
                    "tried again",
                    number, result->err.text, STR_ARG(str_trim(result->output[CHILD_STDERR])));
        number = 0;
    }
    trainer_event(trainer, (struct train_event){.kind = TRAIN_STORED, .value = number});
    trainer_expire_kept(trainer);
}

void trainer_store_now(struct trainer *trainer, const struct train_action *action)
{
    trainer_store_checkpoint(trainer, action->checkpoint, on_stored_now);
}
