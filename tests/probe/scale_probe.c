/*
 * scale_probe.c: polls of a large cluster, from Ray's bytes to a decision, measured.
 *
 * usage: scale_probe NODES POLLS [--moving N] [--churn N] [--shapes N] [--groups N]
 *        scale_probe NODES POLLS --server URL [--every MS]
 *
 *   --moving N   nodes whose free amounts change with every poll
 *   --churn N    nodes that are replaced by new ones with every poll
 *   --shapes N   shapes of tasks that wait, with counts that change with every poll
 *   --groups N   placement groups that wait, other ones with every poll
 *   --server URL ask a GCS instead of making replies up
 *   --every MS   between two polls; 400
 *
 * Prints one object: times in microseconds from the bytes at hand to the decision, processor time
 * per poll with everything the process did for it, memory at the first and at the last poll.
 */
#include "app/head/ray/ray_view.h"
#include "core/core.h"
#include "ray/gcs.h"
#include "ray_reply.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { HEAD = 1, FIRST = 2, WARM_POLLS = 3, LISTING_EVERY_MS = 60000, SAMPLES_MOST = 4096 };

struct options {
    size_t nodes, polls, moving, churn, shapes, groups;
    const char *server;
    int64_t every_ms;
};

struct sample {
    int64_t rss_bytes, heap_bytes;
};

struct scene {
    struct options options;
    struct arena arena, scratch;
    struct names names;
    struct capacity capacities[3];
    struct plan_type type;
    struct offering offering;
    struct core_settings settings;
    struct core *core;
    struct ray_view *mirror;
    struct listed *listed;
    int64_t now, listed_at, joined_at;
    uint64_t first; /* instance of the oldest node */
    uint64_t poll;
    size_t told, loads, decisions, bytes;
    int64_t *times_ns;
    int64_t work_ns; /* processor time of polls, without what it takes to make them up */
    struct sample start, end;
    struct buf state, reply;
    struct loop *loop;
    struct gcs *gcs;
    struct loop_timer *timer;
    int64_t asked_ns, cpu_ns;
    int64_t round_ns[SAMPLES_MOST]; /* over the wire: from request to decision */
    int64_t poll_ns[SAMPLES_MOST];  /* and the processor time of the whole poll */
    size_t failures;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Without what the next decision would use again. */
static struct sample measure(struct scene *scene)
{
    arena_clear(&scene->scratch);
    arena_init(&scene->scratch);
    struct sample sample = {0};
    struct mallinfo2 info = mallinfo2();
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    if (file && fgets(line, sizeof(line), file)) {
        char *rest = NULL;
        (void)strtol(line, &rest, 10);
        pages = strtol(rest, NULL, 10);
    }
    if (file) {
        fclose(file);
    }
    sample.rss_bytes = pages * 4096;
    sample.heap_bytes = (int64_t)(info.uordblks + info.hblkhd);
    return sample;
}

/* ---- the core ---- */

static void step(struct scene *scene, struct event event, struct core_answer *ret_answer)
{
    event.at = scene->now;
    core_step(scene->core, &event, &scene->scratch, ret_answer);
}

static void tell(struct scene *scene, struct event event)
{
    struct core_answer answer;
    step(scene, event, &answer);
}

static uint64_t instance_of(void *context, struct str id)
{
    uint64_t number = 0;
    (void)context;
    for (size_t i = 2; i < id.len; i++) {
        char c = id.ptr[i];
        number = number * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return number;
}

static bool is_hidden(void *context, uint64_t instance)
{
    (void)context;
    (void)instance;
    return false;
}

static void on_node(void *context, const struct ray_node *node)
{
    struct scene *scene = context;
    scene->told++;
    tell(scene, (struct event){.kind = EVENT_RAY_NODE, .ray_node = *node});
}

static void on_load(void *context, const struct ray_load *load)
{
    struct scene *scene = context;
    scene->loads++;
    tell(scene, (struct event){.kind = EVENT_RAY_LOAD, .ray_load = *load});
}

static void list(struct scene *scene)
{
    size_t count = scene->options.nodes;
    for (size_t i = 0; i < count; i++) {
        scene->listed[i] = (struct listed){.instance = scene->first + i, .state = CLOUD_RUNNING};
    }
    scene->listed_at = scene->now;
    tell(scene, (struct event){.kind = EVENT_LISTING,
                               .listing = {.asked_at = scene->now,
                                           .is_complete = true,
                                           .items = scene->listed,
                                           .count = count}});
}

static void open_core(struct scene *scene)
{
    static const struct {
        const char *name;
        int64_t amount;
    } has[] = {
        {"CPU", 80000}, {"memory", 320000000000000}, {"object_store_memory", 90000000000000}};
    for (size_t i = 0; i < ARRAY_LEN(has); i++) {
        scene->capacities[i] = (struct capacity){intern_add(&scene->names, str_from(has[i].name)),
                                                 has[i].amount, has[i].amount};
    }
    scene->type = (struct plan_type){.name = STR("worker"),
                                     .max_nodes = (int64_t)scene->options.nodes + 10,
                                     .capacities = scene->capacities,
                                     .capacity_count = ARRAY_LEN(has),
                                     .idle_timeout_ms = PLAN_NO_LIMIT,
                                     .launch_hash = NAME_NONE,
                                     .recoverable = 1.0,
                                     .availability = 1.0};
    scene->offering = (struct offering){.zone = intern_add(&scene->names, STR("us-west-2a"))};
    scene->settings = (struct core_settings){.names = &scene->names,
                                             .types = &scene->type,
                                             .type_count = 1,
                                             .offerings = &scene->offering,
                                             .offering_count = 1,
                                             .max_workers = (int64_t)scene->options.nodes,
                                             .max_price = PLAN_NO_LIMIT,
                                             .idle_timeout = INT64_C(30) * 24 * 3600 * 1000,
                                             .upscaling_permille = PLAN_NO_LIMIT,
                                             .conserves_gpus = true,
                                             .max_per_call = 100,
                                             .node_capacity = 2 * scene->options.nodes + 64};
    core_times_default(&scene->settings.times);
    scene->core = core_new(&scene->settings, &scene->arena);
    tell(scene, (struct event){.kind = EVENT_START});
    tell(scene, (struct event){.kind = EVENT_LEASE, .lease = {.epoch = 1, .until = INT64_MAX / 2}});
    tell(scene, (struct event){.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}});
    list(scene);
}

/* From a reply to a decision. */
static bool take(struct scene *scene, struct str bytes, int64_t asked_at, struct err *err)
{
    struct core_answer answer;
    int64_t start = now_ns(CLOCK_MONOTONIC);
    if (!ray_view_update(scene->mirror, bytes, asked_at, asked_at, err)) {
        return false;
    }
    tell(scene, (struct event){.kind = EVENT_RAY_SEEN, .asked_at = asked_at});
    step(scene, (struct event){.kind = EVENT_TICK}, &answer);
    scene->decisions += answer.is_decision;
    scene->times_ns[scene->poll % SAMPLES_MOST] = now_ns(CLOCK_MONOTONIC) - start;
    scene->bytes = bytes.len;
    scene->poll++;
    if (scene->scratch.used_bytes > 1024 * 1024) {
        arena_clear(&scene->scratch);
        arena_init(&scene->scratch);
    }
    return true;
}

/* ---- replies that are made up ---- */

static void make_node(struct scene *scene, uint64_t number, bool is_moving)
{
    char id[32], address[32], ray_id[64];
    snprintf(id, sizeof(id), "i-%017" PRIx64, number);
    snprintf(address, sizeof(address), "node:10.%d.%d.%d", (int)(number >> 16 & 255),
             (int)(number >> 8 & 255), (int)(number & 255));
    snprintf(ray_id, sizeof(ray_id), "%056" PRIx64, number);
    double taken = is_moving ? 1 + (double)((scene->poll + number) % 4) : 0;
    struct reply_node node = {
        .number = number,
        .instance = id,
        .status = is_moving ? RAY_NODE_RUNNING : RAY_NODE_IDLE,
        .idle_ms = is_moving ? 0 : scene->now - scene->joined_at + (int64_t)(scene->poll % 7),
        .amounts = {{"CPU", 8, 8 - taken},
                    {"memory", 32e9, 32e9},
                    {"object_store_memory", 9e9, 9e9 - taken * 1e6},
                    {address, 1, 1}},
        .labels = {{"ray.io/node-id", ray_id},
                   {"ray.io/node-group", "worker"},
                   {"ray.io/market-type", "spot"},
                   {"ray.io/availability-zone", "us-west-2a"},
                   {"ray.io/availability-region", "us-west-2"}},
        .activity = is_moving ? "Busy workers on node." : NULL,
        .is_head = number == HEAD};
    reply_add_node(&scene->state, &node);
}

static void make_load(struct scene *scene)
{
    char label[64], details[96];
    for (size_t i = 0; i < scene->options.shapes; i++) {
        struct reply_request request = {
            .amounts = {{"CPU", 9 + (double)i}, {"memory", 1e9 + (double)i}}};
        reply_add_demand(&scene->state, &request, (int64_t)(1 + (scene->poll + i) % 5));
    }
    for (size_t i = 0; i < scene->options.groups; i++) {
        struct reply_request bundle = {.amounts = {{"CPU", 1}}, .apart = label};
        const struct reply_request *const bundles[] = {&bundle, &bundle, &bundle};
        snprintf(label, sizeof(label), "_PG_%036" PRIx64, scene->poll * 1000 + i);
        snprintf(details, sizeof(details), "%s:STRICT_SPREAD|PENDING", label + 4);
        reply_add_gang(&scene->state, bundles, 3, details);
    }
}

static bool poll_made_up(struct scene *scene, struct err *err)
{
    const struct options *options = &scene->options;
    scene->now += options->every_ms;
    scene->first += options->churn;
    for (size_t i = 0; i < options->nodes; i++) {
        make_node(scene, scene->first + i, i < options->moving);
    }
    make_load(scene);
    struct str bytes = reply_end(&scene->state, &scene->reply, (int64_t)scene->poll + 1);
    int64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (options->churn > 0 || scene->now - scene->listed_at > LISTING_EVERY_MS) {
        list(scene);
    }
    bool is_fine = take(scene, bytes, scene->now, err);
    scene->work_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    return is_fine;
}

static bool run_made_up(struct scene *scene, struct err *err)
{
    size_t warm = scene->options.polls > 20 * WARM_POLLS ? scene->options.polls / 10 : WARM_POLLS;
    for (size_t i = 0; i < scene->options.polls; i++) {
        if (!poll_made_up(scene, err)) {
            return false;
        }
        if (i + 1 == warm) {
            scene->start = measure(scene);
        }
    }
    scene->end = measure(scene);
    return true;
}

/* ---- replies of a server ---- */

static void on_reply(void *context, const struct gcs_answer *answer, struct str bytes)
{
    struct scene *scene = context;
    struct err err;
    scene->now = loop_now_ms(scene->loop);
    if (scene->now - scene->listed_at > LISTING_EVERY_MS) {
        list(scene);
    }
    if (answer->trouble != GCS_FINE || !take(scene, bytes, scene->now, &err)) {
        scene->failures++;
        fprintf(stderr, "scale_probe: %s\n",
                answer->trouble != GCS_FINE ? answer->err.text : err.text);
    }
    int64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (scene->poll > WARM_POLLS) {
        size_t at = (scene->poll - WARM_POLLS - 1) % SAMPLES_MOST;
        scene->round_ns[at] = now_ns(CLOCK_MONOTONIC) - scene->asked_ns;
        scene->poll_ns[at] = cpu_ns - scene->cpu_ns;
    }
    if (scene->poll == WARM_POLLS) {
        scene->start = measure(scene);
    }
    scene->cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (scene->poll >= scene->options.polls || scene->failures > 10) {
        loop_stop(scene->loop);
        return;
    }
    loop_timer_start(scene->timer, scene->options.every_ms);
}

static void ask(void *context)
{
    struct scene *scene = context;
    scene->asked_ns = now_ns(CLOCK_MONOTONIC);
    gcs_read_state(scene->gcs, on_reply, scene);
}

static bool run_server(struct scene *scene, struct err *err)
{
    struct http *http = NULL;
    if (!http_open(scene->loop, &(struct http_limits){0}, &http, err)) {
        return false;
    }
    scene->gcs = gcs_open(
        &(struct gcs_setup){.http = http, .server = scene->options.server, .deadline_ms = 20000});
    scene->timer = loop_timer_new(scene->loop, ask, scene);
    loop_timer_start(scene->timer, 0);
    loop_run(scene->loop);
    scene->end = measure(scene);
    gcs_close(scene->gcs);
    http_close(http);
    return scene->failures == 0;
}

/* ---- the answer ---- */

static int compare_times(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;
    return one < other ? -1 : one > other;
}

static double median_us(int64_t *times_ns, size_t count)
{
    qsort(times_ns, count, sizeof(*times_ns), compare_times);
    return (double)times_ns[count / 2] / 1000;
}

static void say(struct scene *scene)
{
    size_t count = scene->poll < SAMPLES_MOST ? scene->poll : SAMPLES_MOST;
    size_t cold = scene->options.server ? WARM_POLLS : 0;
    double first_us = (double)scene->times_ns[0] / 1000;
    double median = median_us(scene->times_ns, count);
    size_t rounds = scene->poll > cold ? (size_t)scene->poll - cold : 1;
    rounds = rounds < SAMPLES_MOST ? rounds : SAMPLES_MOST;
    double round_trip = median_us(scene->round_ns, rounds);
    double cpu = scene->options.server ? median_us(scene->poll_ns, rounds)
                                       : (double)scene->work_ns / 1000 / (double)scene->poll;
    printf("{\"nodes\": %zu, \"polls\": %" PRIu64 ", \"reply_bytes\": %zu, \"first_us\": %.0f, "
           "\"best_us\": %.1f, \"median_us\": %.1f, \"most_us\": %.1f, \"cpu_us_per_poll\": %.1f, "
           "\"round_trip_us\": %.1f, \"told\": %zu, \"loads\": %zu, \"decisions\": %zu, "
           "\"names\": %zu, \"alive\": %zu, \"start_rss\": %" PRId64 ", \"end_rss\": %" PRId64
           ", \"start_heap\": %" PRId64 ", \"end_heap\": %" PRId64 "}\n",
           scene->options.nodes, scene->poll, scene->bytes, first_us,
           (double)scene->times_ns[0] / 1000, median, (double)scene->times_ns[count - 1] / 1000,
           cpu, round_trip, scene->told, scene->loads, scene->decisions, scene->names.count,
           ray_view_alive(scene->mirror), scene->start.rss_bytes, scene->end.rss_bytes,
           scene->start.heap_bytes, scene->end.heap_bytes);
}

static bool read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){.every_ms = 400};
    struct {
        const char *name;
        size_t *value;
    } numbers[] = {{"--moving", &options->moving},
                   {"--churn", &options->churn},
                   {"--shapes", &options->shapes},
                   {"--groups", &options->groups}};
    if (argc < 3 || argc % 2 == 0) {
        return false;
    }
    options->nodes = (size_t)strtoul(argv[1], NULL, 10);
    options->polls = (size_t)strtoul(argv[2], NULL, 10);
    for (int i = 3; i + 1 < argc; i += 2) {
        size_t at = 0;
        while (at < ARRAY_LEN(numbers) && strcmp(numbers[at].name, argv[i]) != 0) {
            at++;
        }
        if (at < ARRAY_LEN(numbers)) {
            *numbers[at].value = (size_t)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--server") == 0) {
            options->server = argv[i + 1];
        } else if (strcmp(argv[i], "--every") == 0) {
            options->every_ms = strtol(argv[i + 1], NULL, 10);
        } else {
            return false;
        }
    }
    return options->polls > 0;
}

static void close_scene(struct scene *scene)
{
    ray_view_close(scene->mirror);
    loop_close(scene->loop);
    buf_clear(&scene->state);
    buf_clear(&scene->reply);
    free(scene->listed);
    free(scene->times_ns);
    arena_clear(&scene->scratch);
    arena_clear(&scene->arena);
}

int main(int argc, char **argv)
{
    struct scene scene = {.first = FIRST, .now = 1000000, .joined_at = 1000000};
    struct err err = {0};
    struct ray_view_hooks hooks = {.context = &scene,
                                   .instance_of = instance_of,
                                   .is_hidden = is_hidden,
                                   .node = on_node,
                                   .load = on_load};
    if (!read_options(argc, argv, &scene.options) ||
        !loop_open(&clock_of_machine, &scene.loop, &err)) {
        fprintf(stderr, "usage: scale_probe NODES POLLS [OPTION VALUE]... %s\n", err.text);
        return 2;
    }
    if (scene.options.server) {
        scene.now = loop_now_ms(scene.loop);
    }
    scene.listed = calloc(scene.options.nodes + 1, sizeof(*scene.listed));
    scene.times_ns = calloc(SAMPLES_MOST, sizeof(*scene.times_ns));
    memset(scene.times_ns, 1, SAMPLES_MOST * sizeof(*scene.times_ns)); /* counts from the start */
    arena_init(&scene.arena);
    arena_init(&scene.scratch);
    intern_init(&scene.names, &scene.arena);
    buf_init(&scene.state, REPLY_CAP);
    buf_init(&scene.reply, REPLY_CAP);
    open_core(&scene);
    scene.mirror = ray_view_open(&scene.names, &hooks);
    bool is_fine = scene.options.server ? run_server(&scene, &err) : run_made_up(&scene, &err);
    if (is_fine) {
        say(&scene);
    } else {
        fprintf(stderr, "scale_probe: %s\n", err.text);
    }
    close_scene(&scene);
    return is_fine ? 0 : 1;
}
