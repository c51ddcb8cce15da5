/*
 * service_retention.c: removes logs and records of machines that have been gone for long
 * (retention.h), and reports a journal that cannot be written.
 *
 * A machine is gone if the service holds the lease and a listing shows the head but not the
 * machine. The journal records when that was first seen ("gone ID"), so a restart does not reset
 * the time.
 */
#include "app/head/service_retention.h"

#include "app/head/node_reason.h"
#include "io/xalloc.h"

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
    struct retention_task *task;
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
    bool is_there = controller_find(sweep->task->head->controller, instance, &managed_node) &&
                    managed_node.machine && managed_node.machine->state != MACHINE_GONE;
    if (instance == HEAD_INSTANCE) {
        sweep->has_head = is_there;
        return;
    }
    if (is_there) {
        return;
    }
    ARENA_PUSH(&sweep->arena, sweep->items, sweep->count,
               sweep->capacity) = (struct gone){instance, arena_str(&sweep->arena, id)};
}

/* ---- removal ---- */

static void remove_files(struct sweep *sweep, const struct gone *gone)
{
    const struct head_context *head = sweep->task->head;
    struct managed_node managed_node = {.instance = gone->instance};
    struct str name = node_reason_name(&managed_node, &sweep->arena);
    unlink(arena_printf(&sweep->arena, "%s/log/%.*s", head->folder, STR_ARG(name)).ptr);
    if (!config_is_local(head->config)) { /* an own machine may be used again */
        unlink(cluster_state_known_hosts(&head->state, gone->id, &sweep->arena));
    }
    worker_records_remove(sweep->task->workers, gone->instance);
}

static const char *fact_name(struct sweep *sweep, const char *kind, const struct gone *gone)
{
    return arena_printf(&sweep->arena, "%s%.*s", kind, STR_ARG(gone->id)).ptr;
}

/* Deletes the rows together with the files, so that no file is left without a row. */
static bool remove_rows(struct sweep *sweep, const struct gone *gone, struct err *err)
{
    struct journal *journal = sweep->task->head->journal;
    return journal_drop_machine(journal, gone->instance, err) &&
           journal_drop(journal, fact_name(sweep, WORKER_FACT, gone), err) &&
           journal_drop(journal, fact_name(sweep, GONE_NAME, gone), err);
}

static bool service_retention_inspect(struct sweep *sweep, size_t i, int64_t now_ms,
                                      bool *ret_is_removed, struct err *err)
{
    const struct gone *gone = &sweep->items[i];
    struct journal *journal = sweep->task->head->journal;
    const char *name = fact_name(sweep, GONE_NAME, gone);
    uint64_t since = 0;
    if (!journal_get_number(journal, name, &since, err)) {
        return false;
    }
    *ret_is_removed = tidy_is_due(&sweep->task->retention, (int64_t)since, sweep->count - i - 1,
                                  now_ms);
    if (*ret_is_removed) {
        return remove_rows(sweep, gone, err);
    }
    return since > 0 || journal_set_number(journal, name, (uint64_t)now_ms, err);
}

static bool sweep_all(struct sweep *sweep, bool *removed, int64_t now_ms, struct err *err)
{
    struct journal *journal = sweep->task->head->journal;
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < sweep->count; i++) {
        ok = service_retention_inspect(sweep, i, now_ms, &removed[i], err);
    }
    return journal_end(journal, ok, err);
}

void retention_task_sweep(struct retention_task *task, int64_t now_ms)
{
    struct sweep sweep = {.task = task};
    struct err err = {0};
    if (!task->head->controller || !task->head->is_leading) {
        return;
    }
    arena_init(&sweep.arena);
    bool ok = journal_machines(task->head->journal, service_retention_take_machine, &sweep, &err);
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
        LOG(task->head, WARNING, "cannot remove logs and records of old instances: %s", err.text);
    }
    arena_clear(&sweep.arena);
}

/* ---- journal errors ---- */

/* Space may have been freed, and nothing else may need to be written. */
static void probe_journal(void *context)
{
    struct retention_task *task = context;
    struct err err;
    bool was_failing = journal_trouble(task->head->journal).len > 0;
    if (was_failing && journal_note(task->head->journal, PROBE_NAME, STR("1"), &err)) {
        LOG(task->head, INFO, "the journal can be written again");
    }
    if (was_failing != task->was_journal_failing) {
        task->was_journal_failing = was_failing;
        ctl_server_notify(task->head->ctl_server, INSTANCE_NONE);
    }
    loop_timer_start(task->probe, PROBE_MS);
}

static void tidy(void *context)
{
    struct retention_task *task = context;
    retention_task_sweep(task, clock_wall_ms(loop_clock(task->head->session.loop)));
    loop_timer_start(task->tidy, task->retention.sweep_ms);
}

struct retention_task *retention_task_open(struct head_context *head,
                                           struct worker_records *workers)
{
    struct retention_task *task = HEAP_NEW(struct retention_task);
    task->head = head;
    task->workers = workers;
    task->retention = retention_make();
    task->tidy = loop_timer_new(head->session.loop, tidy, task);
    task->probe = loop_timer_new(head->session.loop, probe_journal, task);
    loop_timer_start(task->tidy, task->retention.first_ms);
    loop_timer_start(task->probe, PROBE_MS);
    return task;
}

void retention_task_close(struct retention_task *task)
{
    if (task) {
        loop_timer_free(task->tidy);
        loop_timer_free(task->probe);
        free(task);
    }
}
