/* control_scene.h: a controller on a real loop, with a cloud in memory. */
#pragma once

#include "app/control/controller.h"

#include "app/control/launch_request.h"
#include "fake_provider.h"
#include "fixture.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define YAML                                                                             \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"                     \
    "auth: {ssh_user: ubuntu}\nmax_workers: 4\nhead_node_type: head\n"                   \
    "available_node_types:\n"                                                            \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"             \
    "  small: {min_workers: 2, max_workers: 2, node_config: {InstanceType: m5.large}}\n" \
    "  large: {min_workers: 1, max_workers: 1, node_config: {InstanceType: m5.2xlarge}}\n"

enum { PATIENCE_MS = 20 * 1000 }; /* only against hangs: a busy host may stop us for seconds */

/* The events of a test, and everything that the controller needs. */
struct scene {
    struct fixture *fixture;
    struct fake_cloud cloud;
    char scratch[64];
    char folder[128];
    struct cloud_session session;
    struct provider *provider;
    struct journal *journal;
    const struct config *config;
    struct core_setup core;
    struct controller *controller;
    struct buf told; /* a line per hook */
    struct clock clock;
    int64_t shift_ms, wall_shift_ms; /* by how much the test has moved them */
    struct err err;
    unsigned starts;
    bool is_released, sets_up, keeps_stopped, fails_if_held;
    bool is_service; /* of a head: it has no key of its own */
    uint64_t take_from;
    const char *holder, *lease_object; /* with a lease object it was handed over to us */
    void (*on_started)(void *context, const struct cluster_lease *lease);
};

/* ---- hooks ---- */
static inline void on_started(void *context, const struct cluster_lease *lease)
{
    struct scene *scene = context;
    scene->starts++;
    buf_addf(&scene->told, "started %d\n", (int)lease->epoch);
}

static inline void on_set_up(void *context, const struct managed_node *managed_node)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "set up %d\n", (int)managed_node->instance);
    controller_set_up(scene->controller, managed_node->instance, SETUP_CONTACT, false);
}

static inline void on_changed(void *context, const struct managed_node *managed_node)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "changed %d\n", (int)managed_node->instance);
}

static inline void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "trouble %d %.*s\n", (int)answer->outcome, STR_ARG(what));
}

static inline void on_lease_lost(void *context, const struct cluster_lease *lease,
                                 const struct err *why)
{
    struct scene *scene = context;
    if (why) {
        buf_addf(&scene->told, "deposed: %s\n", why->text);
        return;
    }
    struct str holder = lease ? lease->holder : STR("nobody");
    buf_addf(&scene->told, "deposed by %.*s\n", STR_ARG(holder));
}

static inline void on_emptied(void *context)
{
    struct scene *scene = context;
    buf_add_c(&scene->told, "emptied\n");
}

static inline void on_released(void *context, const struct provider_answer *answer)
{
    struct scene *scene = context;
    scene->is_released = answer->outcome == OUTCOME_DONE;
}

/* ---- the scene ---- */

static int64_t scene_monotonic(void *context)
{
    const struct scene *scene = context;
    return clock_monotonic_ms(&clock_of_machine) + scene->shift_ms;
}

static int64_t scene_wall(void *context)
{
    const struct scene *scene = context;
    return clock_wall_ms(&clock_of_machine) + scene->wall_shift_ms;
}

static inline void open_controller(struct scene *scene, enum goal goal)
{
    struct controller_setup setup = {
        .session = &scene->session,
        .provider = scene->provider,
        .journal = scene->journal,
        .config = scene->config,
        .core = &scene->core,
        .holder = str_from(scene->holder),
        .secret = STR("0123456789abcdef0123456789abcdef"),
        .public_key = scene->is_service ? STR("") : STR("ssh-ed25519 AAAA"),
        .take_from = scene->take_from,
        .uid = scene->cloud.uid,
        .lease_object = str_from(scene->lease_object),
        .keeps_stopped = scene->keeps_stopped,
        .fails_if_held = scene->fails_if_held,
        .goal = goal,
        .hooks = {.context = scene,
                  .started = scene->on_started ? scene->on_started : on_started,
                  .set_up = scene->sets_up ? on_set_up : NULL,
                  .changed = on_changed,
                  .trouble = on_trouble,
                  .lease_lost = on_lease_lost,
                  .emptied = on_emptied}};
    scene->controller = controller_open(&setup);
}

/* A new process starts: only the cloud and the journal are left of the one before. */
static inline void begin(struct scene *scene, const char *holder, enum goal goal)
{
    scene->holder = holder;
    const struct cloud_session_setup setup = {.clock = &scene->clock};
    assert_true(cloud_session_open(&scene->session, &setup, &scene->err));
    assert_true(journal_open(scene->folder, holder, &scene->journal, &scene->err));
    scene->provider = fake_provider_new(&scene->cloud, scene->session.loop);
    open_controller(scene, goal);
}

static inline void end(struct scene *scene)
{
    if (scene->controller) {
        controller_close(scene->controller);
    }
    scene->provider->ops->close(scene->provider);
    journal_close(scene->journal);
    cloud_session_close(&scene->session);
}

static inline struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct diag_list diags;
    scene->fixture = fixture_new();
    scene->clock = (struct clock){scene_monotonic, scene_wall, scene};
    memcpy(scene->scratch, "/tmp/shoal-control-XXXXXX", 26);
    assert_non_null(mkdtemp(scene->scratch));
    snprintf(scene->folder, sizeof(scene->folder), "%s/demo", scene->scratch);
    const struct value *tree = fixture_prepare(scene->fixture, YAML);
    assert_non_null(tree);
    scene->config = config_type(&scene->fixture->arena, tree);
    diag_list_init(&diags, &scene->fixture->arena);
    assert_true(core_setup_make(&scene->fixture->arena, scene->config, NULL, &diags, &scene->core,
                                &scene->err));
    scene->core.settings.times.retry_first = 50;
    scene->core.settings.times.retry_most = 200;
    fake_cloud_init(&scene->cloud);
    buf_init(&scene->told, 1 << 20);
    return scene;
}

static inline void scene_free(struct scene *scene)
{
    fake_cloud_clear(&scene->cloud);
    buf_clear(&scene->told);
    fixture_free(&scene->fixture);
    scratch_remove(scene->scratch);
    free(scene);
}

/* ---- waiting ---- */

typedef bool scene_fn(struct scene *scene);

struct waiting {
    struct scene *scene;
    scene_fn *is_so;
    struct loop_timer *timer;
    int64_t until;
    bool came;
};

static inline void look(void *context)
{
    struct waiting *waiting = context;
    waiting->came = waiting->is_so && waiting->is_so(waiting->scene);
    if (waiting->came || loop_now_ms(waiting->scene->session.loop) >= waiting->until) {
        loop_stop(waiting->scene->session.loop);
    } else {
        loop_timer_start(waiting->timer, 2);
    }
}

static inline bool runs_until(struct scene *scene, scene_fn *is_so, int64_t patience_ms)
{
    struct waiting waiting = {.scene = scene, .is_so = is_so};
    waiting.until = loop_now_ms(scene->session.loop) + patience_ms;
    waiting.timer = loop_timer_new(scene->session.loop, look, &waiting);
    loop_timer_start(waiting.timer, 0);
    loop_run(scene->session.loop);
    loop_timer_free(waiting.timer);
    return waiting.came;
}

#define assert_comes(scene, is_so) assert_true(runs_until((scene), (is_so), PATIENCE_MS))

static inline bool told(const struct scene *scene, const char *what)
{
    return str_find(buf_str(&scene->told), what) != SIZE_MAX;
}

static inline bool has_started(struct scene *scene)
{
    return scene->starts > 0;
}

static inline bool has_launched(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] >= 2;
}
