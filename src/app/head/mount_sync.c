/* mount_sync.c: lists the mounts periodically, and copies them to workers that have older ones. */
#include "app/head/mount_sync.h"

#include "app/setup/container.h"
#include "app/setup/node_copy.h"
#include "base/rng.h"
#include "io/xalloc.h"

enum {
    LOOK_MS = 5000, /* the interval of Ray's autoscaler */
    RETRY_MS = 60 * 1000,
    LIST_MS = 10 * 60 * 1000,
    NOTE_MS = 10 * 60 * 1000, /* between two lines in the log about copies */
    LINE_BYTES_MAX = 16 * 1024,
    SAID_BYTES_MAX = 300,
};

struct mount_sync {
    struct mount_sync_setup setup;
    struct worker_setup_hooks theirs; /* of setups */
    struct worker_setups *copies;
    struct arena arena; /* of one round */
    struct loop_timer *timer;
    struct child *list;
    size_t at;    /* the mount that is listed */
    uint64_t sum; /* of the lines so far; their order does not matter */
    bool has_line;
    bool has_complained;
    int64_t noted_ms; /* 0: no copy was logged yet */
    size_t copies_since;
};

/* ---- what is on the head ---- */

static size_t mount_sync_count(const struct config *config)
{
    return config->mount_count + config->cluster_synced_files.count;
}

/* As rsync lists what it would copy: what it leaves out may change. */
static const char *const *mount_sync_argv(struct mount_sync *sync)
{
    const struct config *config = sync->setup.head->config;
    const struct config_node_type *type = &config->node_types[config->head_type];
    struct str path = sync->at < config->mount_count
                          ? config->mounts[sync->at].local
                          : config->cluster_synced_files.items[sync->at - config->mount_count];
    return node_copy_list_argv(config, container_copy_path(config, type, path, &sync->arena),
                               &sync->arena);
}

/* "drwxr-xr-x          4,096 2026/11/18 03:08:08 name": the size and the time of a folder change
 * with files that are left out, so only its mode and its name count. */
static uint64_t mount_sync_hash(struct str line)
{
    enum { SKIPPED = 3 }; /* size, date, time */
    struct str rest = line;
    struct str mode = str_cut(&rest, ' ');
    for (int i = 0; str_starts(mode, "d") && i < SKIPPED; i++) {
        while (str_starts(rest, " ")) {
            rest = str_sub(rest, 1, rest.len);
        }
        (void)str_cut(&rest, ' ');
    }
    return str_hash(mode) + str_hash(rest);
}

static void mount_sync_on_line(void *context, enum child_stream stream, struct str line)
{
    struct mount_sync *sync = context;
    if (stream == CHILD_STDOUT) {
        struct rng mixed = {mount_sync_hash(line) + sync->at};
        sync->sum += rng_next(&mixed);
        sync->has_line = true;
    }
}

/* ---- copies ---- */

struct mount_sync_round {
    struct mount_sync *sync;
    struct arena arena;
    uint64_t *instances;
    size_t count, capacity;
};

static void mount_sync_gather(void *context, const struct managed_node *managed_node)
{
    struct mount_sync_round *round = context;
    ARENA_PUSH(&round->arena, round->instances, round->count,
               round->capacity) = managed_node->instance;
}

static bool is_copying(const struct mount_sync *sync, uint64_t instance)
{
    const struct worker_progress *progress = worker_setups_progress(sync->copies, instance);
    return progress && progress->phase != PHASE_JOINING && progress->phase != PHASE_FAILED;
}

/* Files may change all the time, so not every copy is logged. */
static void mount_sync_note(struct mount_sync *sync, struct str machine, int64_t now_ms)
{
    sync->copies_since++;
    if (sync->noted_ms > 0 && now_ms - sync->noted_ms < NOTE_MS) {
        return;
    }
    LOG(sync->setup.head, INFO,
        "copying changed file mounts to %.*s; copies since the last such line: %zu",
        STR_ARG(machine), sync->copies_since);
    sync->noted_ms = now_ms;
    sync->copies_since = 0;
}

static void copy_to(struct mount_sync *sync, uint64_t instance, struct arena *arena)
{
    struct managed_node managed_node;
    struct worker_machine machine;
    struct head_context *head = sync->setup.head;
    if (!controller_find(head->controller, instance, &managed_node) || is_copying(sync, instance) ||
        !setup_scheduler_is_set_up(sync->setup.scheduler, &managed_node, arena, &machine)) {
        return;
    }
    struct worker_record *record = worker_records_get(sync->setup.workers, instance);
    int64_t now_ms = loop_now_ms(head->session.loop);
    if (record->mounts == sync->sum || record->mounts_retry_ms > now_ms) {
        return;
    }
    record->mounts = sync->sum;
    mount_sync_note(sync, machine.name, now_ms);
    machine.only_copies = true;
    worker_setups_end(sync->copies, instance); /* the state of the last copy */
    worker_setups_begin(sync->copies, &machine);
}

static void mount_sync_copy(struct mount_sync *sync)
{
    struct mount_sync_round round = {.sync = sync};
    const struct head_context *head = sync->setup.head;
    if (!head->controller || !head->is_leading || head->is_ending) {
        return;
    }
    arena_init(&round.arena);
    controller_each(head->controller, mount_sync_gather, &round);
    for (size_t i = 0; i < round.count; i++) {
        copy_to(sync, round.instances[i], &round.arena);
    }
    arena_clear(&round.arena);
}

static void mount_sync_complain(struct mount_sync *sync, const struct child_result *result)
{
    struct str said = str_trim(result->output[CHILD_STDERR]);
    if (!sync->has_complained) {
        sync->has_complained = true;
        LOG(sync->setup.head, WARNING, "cannot list the file mounts, so they are not synced: %.*s",
            STR_ARG(said.len > 0 ? said : str_from(result->err.text)));
    }
}

static void mount_sync_list(struct mount_sync *sync);

/* A file that was removed during the walk is an error of rsync, but not here. */
static void mount_sync_on_listed(void *context, const struct child_result *result)
{
    struct mount_sync *sync = context;
    bool is_last = ++sync->at == mount_sync_count(sync->setup.head->config);
    sync->list = NULL;
    if (result->end == CHILD_EXITED && !is_last) {
        mount_sync_list(sync);
        return;
    }
    loop_timer_start(sync->timer, LOOK_MS);
    if (!sync->has_line || result->end != CHILD_EXITED) {
        mount_sync_complain(sync, result);
        return;
    }
    sync->sum += sync->sum == 0; /* 0: a worker of which nothing is known */
    mount_sync_copy(sync);
}

static void mount_sync_list(struct mount_sync *sync)
{
    static const char *const zone[] = {"TZ=UTC0", NULL}; /* times must not change with the clock */
    sync->list = child_start(
        sync->setup.head->session.children,
        &(struct child_spec){
            .argv = mount_sync_argv(sync),
            .env_names = child_usual_env,
            .env_extra = zone,
            .output = {{.bytes_max = LINE_BYTES_MAX, .line = mount_sync_on_line},
                       {.bytes_max = SAID_BYTES_MAX}},
            .deadline_ms = LIST_MS,
            .done = mount_sync_on_listed,
            .context = sync,
        });
}

static void mount_sync_look(void *context)
{
    struct mount_sync *sync = context;
    arena_clear(&sync->arena);
    sync->sum = 0;
    sync->at = 0;
    sync->has_line = false;
    mount_sync_list(sync);
}

/* ---- hooks of the copies ---- */

static void mount_sync_on_changed(void *context, uint64_t instance)
{
    (void)context;
    (void)instance;
}

static void mount_sync_on_news(void *context, uint64_t instance, enum setup_news news)
{
    const struct mount_sync *sync = context;
    struct worker_record *record = worker_records_get(sync->setup.workers, instance);
    const struct worker_progress *progress = worker_setups_progress(sync->copies, instance);
    struct head_context *head = sync->setup.head;
    if (news != SETUP_FAILED || !progress) {
        return;
    }
    record->mounts = 0;
    record->mounts_retry_ms = loop_now_ms(head->session.loop) + RETRY_MS;
    LOG(head, WARNING, "cannot copy changed file mounts: %.*s: %.*s",
        STR_ARG(progress->failure.step), STR_ARG(progress->failure.said));
    events_add(head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("changed file mounts could not be copied"), progress->failure.said);
}

static bool mount_sync_is_outdated(void *context, uint64_t instance)
{
    (void)context;
    (void)instance;
    return false;
}

/* Its status in Ray's tags is that of its setup. */
static void mount_sync_on_tag(void *context, uint64_t instance, struct str status)
{
    (void)context;
    (void)instance;
    (void)status;
}

static void mount_sync_on_kept_host_key(void *context, struct str name, struct str why)
{
    (void)context;
    (void)name;
    (void)why;
}

static bool mount_sync_is_head_ready(void *context)
{
    (void)context;
    return true;
}

static bool mount_sync_on_payload(void *context, struct str machine, struct arena *arena,
                                  struct str *ret_path, struct err *err)
{
    const struct mount_sync *sync = context;
    return sync->theirs.payload(sync->theirs.context, machine, arena, ret_path, err);
}

/* ---- opening and closing ---- */

struct mount_sync *mount_sync_open(const struct mount_sync_setup *setup)
{
    const struct config *config = setup->head->config;
    const char *const key = "file_mounts_sync_continuously";
    if (!value_is_true(value_get_c(config->tree, key)) || mount_sync_count(config) == 0) {
        return NULL;
    }
    struct mount_sync *sync = HEAP_NEW(struct mount_sync);
    struct worker_setups_setup copies = *setup->setups;
    arena_init(&sync->arena);
    sync->setup = *setup;
    sync->theirs = copies.hooks;
    copies.hooks = (struct worker_setup_hooks){
        .context = sync,
        .changed = mount_sync_on_changed,
        .news = mount_sync_on_news,
        .is_outdated = mount_sync_is_outdated,
        .tag = mount_sync_on_tag,
        .kept_host_key = mount_sync_on_kept_host_key,
        .is_head_ready = mount_sync_is_head_ready,
        .payload = mount_sync_on_payload,
    };
    sync->copies = worker_setups_open(&copies);
    sync->timer = loop_timer_new(setup->head->session.loop, mount_sync_look, sync);
    loop_timer_start(sync->timer, LOOK_MS);
    return sync;
}

void mount_sync_close(struct mount_sync *sync)
{
    if (sync) {
        if (sync->list) {
            child_forget(sync->list);
        }
        loop_timer_free(sync->timer);
        worker_setups_close(sync->copies);
        arena_clear(&sync->arena);
        free(sync);
    }
}

void mount_sync_end(struct mount_sync *sync, uint64_t instance)
{
    if (sync) {
        worker_setups_end(sync->copies, instance);
    }
}
