/*
 * service_retention.c: removes logs and records of machines that have been gone for long
 * (retention.h), and reports a journal that cannot be written.
 *
 * A machine is gone if the service holds the lease and a listing shows the head but not the
 * machine. The journal records when that was first seen ("gone ID"), so a restart does not reset
 * the time.
 */
#include "app/head/service_internal.h"

#include <string.h>
#include <unistd.h>

enum { PROBE_MS = 5 * 1000 };

#define GONE_NAME "gone "
#define PROBE_NAME "probe"

/* ---- the rule ---- */

bool tidy_is_due(const struct retention *keep, int64_t gone_since_ms, size_t newer, int64_t now_ms)
{
    return newer >= (size_t)keep->node_count ||
           (gone_since_ms > 0 && now_ms - gone_since_ms >= keep->node_ms);
}

/* ---- machines that are gone ---- */

struct sweep {
    struct service *service;
    struct arena arena;
    struct gone *items;
    size_t count, capacity;
    bool has_head;
};

struct gone {
    uint64_t instance;
    struct str id;
};

static void service_retention_take_machine(void *context, uint64_t instance, struct str id)
{
    struct sweep *sweep = context;
    struct managed_node managed_node;
    bool is_there = controller_find(sweep->service->controller, instance, &managed_node) &&
                    managed_node.machine && managed_node.machine->state != MACHINE_GONE;
    if (instance == HEAD_INSTANCE) {
        sweep->has_head = is_there;
        return;
    }
    if (is_there) {
        return;
    }
    void *items = sweep->items;
    arena_grow(&sweep->arena, &items, sweep->count, &sweep->capacity, sizeof(*sweep->items));
    sweep->items = items;
    sweep->items[sweep->count++] = (struct gone){instance, arena_str(&sweep->arena, id)};
}

/* ---- removal ---- */

static void remove_files(struct sweep *sweep, const struct gone *gone)
{
    struct service *service = sweep->service;
    struct managed_node managed_node = {.instance = gone->instance};
    struct str name = service_node_name(&managed_node, &sweep->arena);
    unlink(arena_printf(&sweep->arena, "%s/log/%.*s", service->folder, STR_ARG(name)).ptr);
    unlink(cluster_state_known_hosts(&service->state, gone->id, &sweep->arena));
    setup_records_remove(&service->pasts, gone->instance);
    convergence_forget(&service->slots, gone->instance);
}

static const char *fact_name(struct sweep *sweep, const char *kind, const struct gone *gone)
{
    return arena_printf(&sweep->arena, "%s%.*s", kind, STR_ARG(gone->id)).ptr;
}

/* Deletes the rows together with the files, so that no file is left without a row. */
static bool remove_rows(struct sweep *sweep, const struct gone *gone, struct err *err)
{
    struct journal *journal = sweep->service->journal;
    return journal_drop_machine(journal, gone->instance, err) &&
           journal_drop(journal, fact_name(sweep, WORKER_FACT, gone), err) &&
           journal_drop(journal, fact_name(sweep, GONE_NAME, gone), err);
}

static bool service_retention_inspect(struct sweep *sweep, size_t i, int64_t now_ms,
                                      bool *ret_is_removed, struct err *err)
{
    const struct gone *gone = &sweep->items[i];
    struct journal *journal = sweep->service->journal;
    const char *name = fact_name(sweep, GONE_NAME, gone);
    uint64_t since = 0;
    if (!journal_get_number(journal, name, &since, err)) {
        return false;
    }
    *ret_is_removed = tidy_is_due(&sweep->service->retention, (int64_t)since, sweep->count - i - 1,
                                  now_ms);
    if (*ret_is_removed) {
        return remove_rows(sweep, gone, err);
    }
    return since > 0 || journal_set_number(journal, name, (uint64_t)now_ms, err);
}

static bool sweep_all(struct sweep *sweep, bool *removed, int64_t now_ms, struct err *err)
{
    struct journal *journal = sweep->service->journal;
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < sweep->count; i++) {
        ok = service_retention_inspect(sweep, i, now_ms, &removed[i], err);
    }
    return journal_end(journal, ok, err);
}

void service_tidy(struct service *service, int64_t now_ms)
{
    struct sweep sweep = {.service = service};
    struct err err = {0};
    if (!service->controller || !service->is_leading) {
        return;
    }
    arena_init(&sweep.arena);
    bool ok = journal_machines(service->journal, service_retention_take_machine, &sweep, &err);
    if (ok && sweep.has_head && sweep.count > 0) {
        bool *removed = ARENA_ARRAY(&sweep.arena, sweep.count, bool);
        ok = sweep_all(&sweep, removed, now_ms, &err);
        for (size_t i = 0; ok && i < sweep.count; i++) {
            if (removed[i]) {
                remove_files(&sweep, &sweep.items[i]);
            }
        }
    }
    if (!ok) {
        LOG(service, WARNING, "cannot remove logs and records of old instances: %s", err.text);
    }
    arena_clear(&sweep.arena);
}

/* ---- journal errors ---- */

struct str service_journal_text(const struct service *service, struct arena *arena)
{
    struct str trouble = journal_trouble(service->journal);
    return trouble.len == 0
               ? STR("")
               : arena_printf(arena, "the journal cannot be written (%.*s): no launches until %s",
                              STR_ARG(trouble),
                              str_is(trouble, "disk full") ? "space is free" : "it can be written");
}

/* Space may have been freed, and nothing else may need to be written. */
static void probe_journal(void *context)
{
    struct service *service = context;
    struct err err;
    bool was_failing = journal_trouble(service->journal).len > 0;
    if (was_failing && journal_note(service->journal, PROBE_NAME, STR("1"), &err)) {
        LOG(service, INFO, "the journal can be written again");
    }
    if (was_failing != service->was_journal_failing) {
        service->was_journal_failing = was_failing;
        ctl_server_notify(service->ctl_server, INSTANCE_NONE);
    }
    loop_timer_start(service->journal_look, PROBE_MS);
}

static void tidy(void *context)
{
    struct service *service = context;
    service_tidy(service, clock_wall_ms(loop_clock(service->session.loop)));
    loop_timer_start(service->tidy, service->retention.sweep_ms);
}

void service_open_tidy(struct service *service)
{
    service->retention = retention_make();
    service->tidy = loop_timer_new(service->session.loop, tidy, service);
    service->journal_look = loop_timer_new(service->session.loop, probe_journal, service);
    loop_timer_start(service->tidy, service->retention.first_ms);
    loop_timer_start(service->journal_look, PROBE_MS);
}
