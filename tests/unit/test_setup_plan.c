/* test_setup_plan.c: the steps of heads and workers, in their order and with their environment. */
#include "app/setup/setup_plan.h"

#include "fixture.h"

#define MINIMAL "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"

#define OWN                                                                                       \
    MINIMAL "available_node_types:\n"                                                             \
            "  h: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}, labels: {a: b}}\n" \
            "  w: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"                 \
            "  v: {node_config: {InstanceType: m5.large}, resources: {}, "                        \
            "worker_setup_commands: [own], initialization_commands: [begin]}\n"                   \
            "head_node_type: h\n"                                                                 \
            "initialization_commands: [init]\n"                                                   \
            "setup_commands: [one]\n"                                                             \
            "head_setup_commands: [two]\n"                                                        \
            "worker_setup_commands: [three]\n"                                                    \
            "head_start_ray_commands: [ray stop, ray start --head --port=7 "                      \
            "--dashboard-host=0.0.0.0]\n"

struct scene {
    struct fixture *f;
    struct setup_input input;
    struct setup_plan plan;
    struct err err;
};

static void set(struct scene *scene, struct fixture *f, const char *yaml, const char *type)
{
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    const struct config *config = config_type(&f->arena, tree);
    *scene = (struct scene){.f = f};
    scene->input.config = config;
    scene->input.type = &config->node_types[config->head_type];
    for (size_t i = 0; type && i < config->node_type_count; i++) {
        if (str_is(config->node_types[i].name, type)) {
            scene->input.type = &config->node_types[i];
        }
    }
    scene->input.is_head = scene->input.type->is_head;
    scene->input.instance_id = STR("i-1");
    scene->input.machine = STR("m5.large");
    scene->input.head_ip = STR("10.0.0.4");
}

static void make(struct scene *scene)
{
    assert_true(setup_plan_make(&scene->input, &scene->f->arena, &scene->plan, &scene->err));
}

/* "name: command", a line each; our program is "S". */
static struct str show(const struct scene *scene)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    const struct bundle *bundle = &scene->plan.request.bundle;
    for (size_t i = 0; i < bundle->count; i++) {
        const struct step *step = &bundle->steps[i];
        buf_addf(&out, "%s%.*s:", step->is_always ? "*" : "", STR_ARG(step->name));
        struct str rest = step->command;
        while (rest.len > 0) {
            struct str word = str_cut(&rest, ' ');
            buf_add_char(&out, ' ');
            buf_add(&out, str_is(word, SETUP_PROGRAM) ? STR("S") : word);
        }
        if (scene->plan.steps[i].path.len > 0) {
            buf_addf(&out, " <%.*s>", STR_ARG(scene->plan.steps[i].path));
        }
        buf_add_char(&out, '\n');
    }
    struct str text = arena_str(&scene->f->arena, buf_str(&out));
    buf_clear(&out);
    return text;
}

/* "A=1 B=2" of the last step whose name starts with this. */
static struct str variables(const struct scene *scene, const char *name)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    const struct bundle *bundle = &scene->plan.request.bundle;
    for (size_t i = 0; i < bundle->count; i++) {
        const struct step *step = &bundle->steps[i];
        if (!str_starts(step->name, name)) {
            continue;
        }
        out.len = 0;
        for (size_t j = 0; j < step->variable_count; j++) {
            buf_addf(&out, "%s%.*s=%.*s", j > 0 ? " " : "", STR_ARG(step->variables[j].name),
                     STR_ARG(step->variables[j].value));
        }
    }
    struct str text = arena_str(&scene->f->arena, buf_str(&out));
    buf_clear(&out);
    return text;
}

static void a_head_of_a_minimal_file(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, MINIMAL, NULL);
    make(&scene);
    assert_str(show(&scene),
               "*service start: S autoscaler --background\n"
               "checking the machine: S node probe --bare\n"
               "finding or installing Ray: S node ray --version 2.60.0 && S node env --make-token\n"
               "*start 1 of 2: S node idle || ray stop <head_start_ray_commands[0]>\n"
               "*start 2 of 2: eval \"$(~/.shoal/bin/shoal node start)\"; "
               "ulimit -n 65536; ray start --head "
               "--port=6379 --object-manager-port=8076 "
               "${SHOAL_MONITOR---autoscaling-config=~/ray_bootstrap_config.yaml} "
               "--dashboard-host=127.0.0.1 "
               "<head_start_ray_commands[1]>\n");
    assert_int_equal(scene.plan.warning_count, 0);
    assert_str(variables(&scene, "start"),
               "RAY_USAGE_STATS_ENABLED=0 RAY_enable_autoscaler_v2=1 "
               "RAY_OVERRIDE_RESOURCES={\"CPU\":2} RAY_CLOUD_INSTANCE_ID=i-1 "
               "RAY_NODE_TYPE_NAME=ray.head.default RAY_CLOUD_INSTANCE_TYPE_NAME=m5.large");
    assert_str(variables(&scene, "setup"), "");
}

#define ON_DISK "metadata: {shoal: {gcs_store: disk}}\n"
#define STORE_WORDS                                                     \
    "RAY_gcs_storage_path=$(~/.shoal/bin/shoal node store) || exit 1; " \
    "export RAY_gcs_storage_path; "

/* However the file starts Ray, Ray learns where its GCS keeps its tables. */
static void a_head_with_its_gcs_on_disk(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, OWN ON_DISK, NULL);
    make(&scene);
    struct str steps = show(&scene);
    assert_like(str_sub(steps, str_find(steps, "*start 1"), steps.len),
                "*start 1 of 2: S node idle || ray stop <*>\n"
                "*start 2 of 2: " STORE_WORDS "ray start --head --no-monitor *\n");
    assert_like(variables(&scene, "start"),
                "* RAY_CLOUD_INSTANCE_TYPE_NAME=m5.large RAY_gcs_storage=rocksdb "
                "RAY_gcs_rpc_server_reconnect_timeout_s=600");
    /* The same after a reboot. */
    assert_str(scene.plan.request.files[0].path, SETUP_STARTS_FILE);
    struct str starts = scene.plan.request.files[0].bytes;
    assert_true(str_find(starts, STORE_WORDS) != SIZE_MAX);
    assert_true(str_find(starts, "\"RAY_gcs_storage\":\"rocksdb\"") != SIZE_MAX);
    set(&scene, f, MINIMAL ON_DISK, NULL);
    make(&scene);
    assert_true(str_find(show(&scene), "start 2 of 2: " STORE_WORDS "eval \"$(") != SIZE_MAX);
    set(&scene, f, MINIMAL "metadata: {shoal: {gcs_store: memory}}\n", NULL);
    make(&scene);
    assert_int_equal(str_find(show(&scene), "store"), SIZE_MAX);
    assert_int_equal(str_find(variables(&scene, "start"), "gcs"), SIZE_MAX);
}

/* Its raylet waits for the head; it does not need to know where the tables are. */
static void a_worker_of_a_head_with_its_gcs_on_disk(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, MINIMAL ON_DISK, "ray.worker.default");
    make(&scene);
    assert_int_equal(str_find(show(&scene), "store"), SIZE_MAX);
    assert_like(variables(&scene, "start"),
                "RAY_HEAD_IP=* RAY_gcs_rpc_server_reconnect_timeout_s=600");
    assert_int_equal(str_find(variables(&scene, "start"), "rocksdb"), SIZE_MAX);
    set(&scene, f, MINIMAL, "ray.worker.default");
    make(&scene);
    assert_int_equal(str_find(variables(&scene, "start"), "gcs"), SIZE_MAX);
}

static void a_worker_of_a_minimal_file(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, MINIMAL, "ray.worker.default");
    scene.input.token = STR("secret");
    scene.input.is_spot = true;
    make(&scene);
    assert_str(show(&scene),
               "checking the machine: S node probe --bare\n"
               "finding or installing Ray: S node ray --version 2.60.0 && S node env --token\n"
               "*waiting for Ray on the head: S node gate --gcs 10.0.0.4:6379 "
               "--token-file ~/.ray/auth_token\n"
               "*start 1 of 2: S node idle || ray stop <worker_start_ray_commands[0]>\n"
               "*start 2 of 2: ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379 "
               "--object-manager-port=8076 <worker_start_ray_commands[1]>\n"
               "*spot watcher start: S node watch --provider aws --instance-id "
               "\"$RAY_CLOUD_INSTANCE_ID\" --gcs 10.0.0.4:6379 --token-file ~/.ray/auth_token\n");
    assert_like(variables(&scene, "start"),
                "RAY_HEAD_IP=10.0.0.4 RAY_OVERRIDE_RESOURCES={*} RAY_CLOUD_INSTANCE_ID=i-1 "
                "RAY_NODE_TYPE_NAME=ray.worker.default RAY_CLOUD_INSTANCE_TYPE_NAME=m5.large "
                "RAY_NODE_MARKET_TYPE=spot");
    assert_int_equal(scene.plan.request.file_count, 1);
    assert_str(scene.plan.request.files[0].path, "~/.ray/auth_token");
    assert_str(scene.plan.request.files[0].bytes, "secret");
    assert_int_equal(scene.plan.request.files[0].mode, 0600);
}

static void the_files_commands(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, OWN, NULL);
    make(&scene);
    assert_like(show(&scene),
                "*service start: *\n"
                "checking the machine: S node probe\n"
                "initialization 1 of 1: init <initialization_commands[0]>\n"
                "setup 1 of 2: one <setup_commands[0]>\n"
                "setup 2 of 2: two <head_setup_commands[0]>\n"
                "finding or installing Ray: *\n"
                "*start 1 of 2: S node idle || ray stop <head_start_ray_commands[0]>\n"
                "*start 2 of 2: ray start --head --no-monitor --port=7 --dashboard-host=0.0.0.0 "
                "<head_start_ray_commands[1]>\n");
    assert_int_equal(scene.plan.warning_count, 1);
    assert_like(scene.plan.warnings[0], "head_start_ray_commands[1] has --dashboard-host=0.0.0.0*");
    assert_like(variables(&scene, "start"), "*RAY_OVERRIDE_LABELS={\"a\":\"b\"}*");

    set(&scene, f, OWN, "w");
    make(&scene);
    assert_like(show(&scene), "*\n*\n*one <setup_commands[0]>\n*three <worker_setup_commands[0]>\n"
                              "*\n*gate --gcs 10.0.0.4:7\n*\n*\n");
    assert_str(variables(&scene, "initialization"), "RAY_HEAD_IP=10.0.0.4");
    assert_str(variables(&scene, "setup"), "RAY_HEAD_IP=10.0.0.4");

    set(&scene, f, OWN, "v");
    make(&scene);
    assert_like(show(&scene), "*\n"
                              "*begin <available_node_types.v.initialization_commands[0]>\n"
                              "*own <available_node_types.v.worker_setup_commands[0]>\n"
                              "*\n*\n*\n*\n");
    assert_like(variables(&scene, "start"), "RAY_HEAD_IP=10.0.0.4 *");
}

static void restarts(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, OWN, NULL);
    scene.input.restart = SETUP_NO_RESTART;
    make(&scene);
    assert_like(show(&scene), "*\n*\n*init*\n*one*\n*two*\nfinding or installing Ray: *\n");
    scene.input.restart = SETUP_RESTART_ONLY;
    make(&scene);
    assert_like(show(&scene), "*\n*\n*init*\nfinding or installing Ray: *\n*start 1*\n*start 2*\n");
}

static void assert_has(struct str text, const char *words)
{
    if (str_find(text, words) == SIZE_MAX) {
        assert_str(text, words); /* shows both */
    }
}

static void what_is_the_users_stays(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f,
        MINIMAL "setup_commands: [pip install x]\n"
                "head_start_ray_commands: ['RAY_AUTH_MODE=disabled ray start --head']\n"
                "metadata: {shoal: {ray_version: 2.59.1}}\n",
        NULL);
    make(&scene);
    assert_has(show(&scene), "S node probe --need python3\n");
    assert_has(show(&scene), "S node ray --version 2.59.1 && S node env\n");
    assert_like(variables(&scene, "start"), "*RAY_CLOUD_INSTANCE_TYPE_NAME=m5.large");
}

static void files_go_along(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    const struct node_file extra = {STR("~/x"), STR("y"), 0644};
    set(&scene, f, MINIMAL, NULL);
    scene.input.handover = STR("{}");
    scene.input.files = &extra;
    scene.input.file_count = 1;
    make(&scene);
    assert_int_equal(scene.plan.request.file_count, 3);
    assert_str(scene.plan.request.files[1].path, "~/.shoal/cluster/handover.json");
    assert_int_equal(scene.plan.request.files[1].mode, 0600);
    assert_str(scene.plan.request.files[2].path, "~/x");
}

/* Whether Ray is started now or not, a reboot starts it with the same commands. */
static void the_head_keeps_its_start_commands(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    struct bundle bundle;
    set(&scene, f, OWN, "h");
    scene.input.restart = SETUP_NO_RESTART;
    make(&scene);
    const struct node_file *file = &scene.plan.request.files[0];
    assert_str(file->path, SETUP_STARTS_FILE);
    assert_int_equal(file->mode, 0600);
    assert_true(bundle_read(file->bytes, &f->arena, &bundle, &scene.err));
    assert_int_equal(bundle.count, 2);
    assert_str(bundle.steps[0].command, SETUP_PROGRAM " node idle || ray stop");
    assert_str(bundle.steps[1].command,
               "ray start --head --no-monitor --port=7 --dashboard-host=0.0.0.0");
    assert_int_equal(bundle.steps[1].attempts, 2);
    assert_true(bundle.steps[1].is_always);
    assert_str(bundle.steps[1].variables[0].name, "RAY_USAGE_STATS_ENABLED");
    set(&scene, f, OWN, "w");
    make(&scene);
    assert_int_equal(scene.plan.request.file_count, 0);
}

/* With containers: which steps run inside, and with which options. */
static struct str show_places(const struct scene *scene, const struct bundle *bundle)
{
    struct str text = STR("");
    for (size_t i = 0; i < bundle->count; i++) {
        const struct step *step = &bundle->steps[i];
        bool is_inside = str_starts(step->inside, SETUP_PROGRAM " node inside");
        struct str rest = is_inside ? str_sub(step->inside, strlen(SETUP_PROGRAM " node inside"),
                                              step->inside.len)
                                    : STR("");
        text = arena_printf(&scene->f->arena, "%.*s%s%.*s%s%.*s\n", STR_ARG(text),
                            step->is_always ? "*" : "", STR_ARG(step->name),
                            is_inside ? ": inside" : ": here", STR_ARG(rest));
    }
    return text;
}

#define CONTAINER                                                        \
    OWN "docker: {image: i, container_name: c, run_options: [-e A=b]}\n" \
        "worker_start_ray_commands: [docker info, ray start --address=$RAY_HEAD_IP:6379]\n"

static void ray_in_a_container(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    struct bundle resumed;
    set(&scene, f, CONTAINER, NULL);
    make(&scene);
    assert_str(show_places(&scene, &scene.plan.request.bundle),
               "*service start: here\n"
               "checking the machine: here\n"
               "initialization 1 of 1: here\n"
               "*container start: here\n"
               "setup 1 of 2: inside\n"
               "setup 2 of 2: inside\n"
               "finding or installing Ray: inside && ~/.shoal/bin/shoal node inside --note-ray\n"
               "*start 1 of 2: inside\n"
               "*start 2 of 2: inside --last\n");
    assert_has(show(&scene), "machine: S node probe --container docker\n");
    assert_has(show(&scene), "container start: S node container --make-token\n");
    assert_like(scene.plan.request.bundle.steps[2].command, "if *sg docker *; fi\ninit");
    assert_str(variables(&scene, "container start"),
               "SHOAL_CONTAINER={\"name\":\"c\",\"image\":\"i\",\"cluster\":\"x\",\"pulls\":true,"
               "\"runtime\":true,\"shm\":true,\"options\":[\"-e A=b\"],\"mounts\":[]}");
    assert_str(scene.plan.request.files[0].path, SETUP_STARTS_FILE);
    assert_true(bundle_read(scene.plan.request.files[0].bytes, &f->arena, &resumed, &scene.err));
    assert_str(show_places(&scene, &resumed),
               "*container start: here\n"
               "setup 1 of 2: inside\n"
               "setup 2 of 2: inside\n"
               "finding or installing Ray: inside && ~/.shoal/bin/shoal node inside --note-ray\n"
               "*start 1 of 2: inside\n"
               "*start 2 of 2: inside --last\n");
}

/* Before the commands, and where Ray will be. In a container the image decides. */
static void commands_that_use_pip(void **state)
{
    static const char yaml[] = MINIMAL "setup_commands: [pip install torch]\n"
                                       "worker_setup_commands: [echo hi]\n";
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, yaml, NULL);
    make(&scene);
    assert_has(show(&scene), "checking the machine: S node probe --need python3\n"
                             "finding or installing pip: S node python\nsetup 1 of 1: pip");
    set(&scene, f, MINIMAL "setup_commands: [echo hi]\n", NULL);
    make(&scene);
    assert_true(str_find(show(&scene), "node python") == SIZE_MAX);
    set(&scene, f,
        MINIMAL "setup_commands: [pip install torch]\ndocker: {image: i, container_name: c}\n",
        NULL);
    make(&scene);
    assert_true(str_find(show(&scene), "node python") == SIZE_MAX);
}

/* Ray would offer GPUs that no driver can use. */
static void nodes_with_gpus(void **state)
{
    static const char yaml[] = MINIMAL
        "available_node_types:\n"
        "  h: {node_config: {InstanceType: g5.12xlarge}, resources: {CPU: 0}}\n"
        "  cpu: {node_config: {InstanceType: m5.large}, resources: {GPU: 1}}\n"
        "  none: {node_config: {InstanceType: g5.xlarge}, resources: {GPU: 0}}\n"
        "head_node_type: h\n";
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, yaml, NULL);
    make(&scene);
    assert_has(show(&scene), "\n*GPU check: S node gpu --count 4\n*start 1 of 2: S node idle");
    struct bundle resumed;
    assert_true(bundle_read(scene.plan.request.files[0].bytes, &f->arena, &resumed, &scene.err));
    assert_has(show_places(&scene, &resumed), "*GPU check: here\n*start 1 of 2: here\n");
    set(&scene, f,
        MINIMAL "available_node_types:\n" /* a type that the catalogue does not have */
                "  h: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"
                "  w: {node_config: {InstanceType: x9.new}, resources: {GPU: 2}}\n"
                "head_node_type: h\n",
        "w");
    make(&scene);
    assert_has(show(&scene), "\n*GPU check: S node gpu --count 2\n*waiting for Ray on the head:");
    scene.input.restart = SETUP_NO_RESTART;
    make(&scene);
    assert_true(str_find(show(&scene), "GPU") == SIZE_MAX);
    static const char *const without[] = {"none", "cpu"};
    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        set(&scene, f, yaml, without[i]);
        make(&scene);
        assert_true(str_find(show(&scene), "GPU") == SIZE_MAX);
    }
}

/* The machine's driver comes before the container, which gets its GPUs when it is started. */
static void gpus_in_a_container(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f,
        MINIMAL "available_node_types:\n"
                "  h: {node_config: {InstanceType: g5.xlarge}, resources: {}}\n"
                "head_node_type: h\n"
                "docker: {image: i, container_name: c}\n",
        NULL);
    make(&scene);
    assert_has(show_places(&scene, &scene.plan.request.bundle),
               "*GPU check: here\n*container start: here\n");
    assert_has(show_places(&scene, &scene.plan.request.bundle),
               "*GPU check: inside\n*start 1 of 2: inside\n");
    assert_has(show(&scene), "*GPU check: S node gpu --count 1 --container docker\n");
    assert_has(variables(&scene, "container start"), "\"shm\":true,\"gpus\":true,");
    struct bundle resumed;
    assert_true(bundle_read(scene.plan.request.files[0].bytes, &f->arena, &resumed, &scene.err));
    assert_has(show_places(&scene, &resumed), "*GPU check: here\n*container start: here\n");
    assert_has(show_places(&scene, &resumed), "*GPU check: inside\n*start 1 of 2: inside\n");
}

static void a_container_that_keeps_running(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, CONTAINER, NULL);
    scene.input.restart = SETUP_NO_RESTART;
    make(&scene);
    assert_has(variables(&scene, "container start"), " SHOAL_KEEP_RUNNING=1");
    assert_has(show_places(&scene, &scene.plan.request.bundle),
               "*start 1 of 2: inside --once\n*start 2 of 2: inside --once --last\n");
    size_t last = scene.plan.request.bundle.count - 1;
    assert_int_equal(scene.plan.steps[last].phase, SETUP_IS_SETUP); /* is not a restart of Ray */
    scene.input.restart = SETUP_RESTART_ONLY; /* as in Ray, with setup commands */
    make(&scene);
    assert_has(show_places(&scene, &scene.plan.request.bundle), "\nsetup 2 of 2: inside\n");
}

/* Otherwise the setup commands would run again in a container that is in use. */
static void keeping_ray_changes_no_key_of_the_setup(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    static const char *const types[] = {NULL, "v"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct scene scene;
        char with[20][STEP_KEY_SIZE];
        char without[20][STEP_KEY_SIZE];
        size_t same = 0;
        set(&scene, f, CONTAINER, types[i]);
        make(&scene);
        assert_in_range(scene.plan.request.bundle.count, 5, 20);
        bundle_keys(&scene.plan.request.bundle, with);
        scene.input.restart = SETUP_NO_RESTART;
        make(&scene);
        bundle_keys(&scene.plan.request.bundle, without);
        while (same < scene.plan.request.bundle.count && strcmp(with[same], without[same]) == 0) {
            same++;
        }
        assert_in_range(same, 4, scene.plan.request.bundle.count - 1);
        /* The start commands differ: `--once`. */
        assert_str(str_sub(scene.plan.request.bundle.steps[same].name, 0, 6), "start ");
    }
}

static void a_worker_in_a_container(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, CONTAINER, "v");
    scene.input.token = STR("secret");
    make(&scene);
    assert_str(show_places(&scene, &scene.plan.request.bundle),
               "checking the machine: here\n"
               "initialization 1 of 1: here\n"
               "*container start: here\n"
               "setup 1 of 1: inside\n"
               "finding or installing Ray: inside && ~/.shoal/bin/shoal node inside --note-ray\n"
               "*waiting for Ray on the head: inside\n"
               "*start 1 of 2: here\n" /* calls docker itself */
               "*start 2 of 2: inside --last\n");
    assert_has(show(&scene), ": S node container\n");
}

#define CALLS_DOCKER                                  \
    MINIMAL "docker: {image: i, container_name: c}\n" \
            "setup_commands: [docker login x]\n"      \
            "head_start_ray_commands: [ray start --head --port=7, docker stats]\n"

/* They run on the machine, whose user may have Docker's group only since this setup. */
static void commands_that_call_docker(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, CALLS_DOCKER, NULL);
    make(&scene);
    const struct bundle *bundle = &scene.plan.request.bundle;
    assert_has(show_places(&scene, bundle), "\nsetup 1 of 1: here\n");
    assert_has(show_places(&scene, bundle), "1 of 2: inside --last\n*start 2 of 2: here\n");
    assert_has(show(&scene), "\ndocker login x <setup_commands[0]>");
    assert_like(bundle->steps[bundle->count - 1].command, "if *sg docker *; fi\ndocker stats");
    assert_like(bundle->steps[bundle->count - 2].command, "*ray start --head*");
    assert_true(str_find(bundle->steps[bundle->count - 2].command, "sg docker") == SIZE_MAX);
}

static void what_cannot_be(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, MINIMAL "metadata: {shoal: {ray_version: '2.1; rm'}}\n", NULL);
    assert_false(setup_plan_make(&scene.input, &f->arena, &scene.plan, &scene.err));
    assert_like(str_from(scene.err.text), "*ray_version*");
    set(&scene, f, MINIMAL "head_start_ray_commands: [echo]\n", NULL);
    make(&scene);
    assert_like(scene.plan.warnings[0], "Ray will not be started: *head_start_ray_commands*");
}

static void only_ray_start_is_tried_twice(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    for (int is_worker = 0; is_worker < 2; is_worker++) {
        size_t starts = 0;
        set(&scene, f, OWN, is_worker ? "w" : "h");
        make(&scene);
        const struct bundle *bundle = &scene.plan.request.bundle;
        for (size_t i = 0; i < bundle->count; i++) {
            bool is_start = str_find(bundle->steps[i].command, "ray start") != SIZE_MAX;
            assert_int_equal(bundle->steps[i].attempts > 1 ? bundle->steps[i].attempts : 1,
                             is_start ? 2 : 1);
            starts += is_start;
        }
        assert_int_equal(starts, 1);
    }
}

/* On demand, too: Google stops it when its host needs maintenance. */
static void a_gpu_worker_at_google_is_watched(void **state)
{
    static const struct {
        const char *resources;
        bool is_watched;
    } rows[] = {{"{CPU: 8, GPU: 1}", true}, {"{CPU: 8, GPU: 0}", false}, {"{CPU: 8}", false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FIXTURE struct fixture *f = fixture_new();
        struct scene scene;
        char yaml[600];
        snprintf(yaml, sizeof(yaml),
                 "cluster_name: x\nprovider: {type: gcp, project_id: p, region: us-west1, "
                 "availability_zone: us-west1-a}\navailable_node_types:\n"
                 "  h: {node_config: {machineType: n2-standard-4}, resources: {CPU: 4}}\n"
                 "  w: {node_config: {machineType: g2-standard-8}, resources: %s}\n"
                 "head_node_type: h\n",
                 rows[i].resources);
        set(&scene, f, yaml, "w");
        make(&scene);
        assert_true((str_find(show(&scene), "node watch --provider gcp") != SIZE_MAX) ==
                    rows[i].is_watched);
        assert_true((str_find(show(&scene), " --rebalance\n") != SIZE_MAX) == rows[i].is_watched);
    }
}

static void a_spot_worker_is_watched(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, OWN, "w");
    scene.input.is_spot = true;
    scene.input.token = STR("t");
    make(&scene);
    struct str steps = show(&scene);
    assert_true(str_ends(steps, "*spot watcher start: S node watch --provider aws "
                                "--instance-id \"$RAY_CLOUD_INSTANCE_ID\" --gcs 10.0.0.4:7 "
                                "--token-file ~/.ray/auth_token\n"));
    assert_str(variables(&scene, "spot"), "RAY_CLOUD_INSTANCE_ID=i-1");
    scene.input.restart = SETUP_NO_RESTART;
    make(&scene);
    assert_true(str_find(show(&scene), "*spot watcher start") != SIZE_MAX);
    set(&scene, f, OWN "metadata: {shoal: {rebalance: true}}\n", "w");
    scene.input.is_spot = true;
    make(&scene);
    assert_true(str_ends(show(&scene), "--gcs 10.0.0.4:7 --rebalance\n"));
}

static void heads_and_bought_machines_are_not_watched(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    set(&scene, f, OWN, "w");
    make(&scene);
    assert_true(str_find(show(&scene), "node watch") == SIZE_MAX);
    set(&scene, f, OWN, "h");
    scene.input.is_spot = true;
    make(&scene);
    assert_true(str_find(show(&scene), "node watch") == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_of_a_minimal_file),
        cmocka_unit_test(a_head_with_its_gcs_on_disk),
        cmocka_unit_test(a_worker_of_a_head_with_its_gcs_on_disk),
        cmocka_unit_test(a_worker_of_a_minimal_file),
        cmocka_unit_test(the_files_commands),
        cmocka_unit_test(restarts),
        cmocka_unit_test(what_is_the_users_stays),
        cmocka_unit_test(files_go_along),
        cmocka_unit_test(the_head_keeps_its_start_commands),
        cmocka_unit_test(ray_in_a_container),
        cmocka_unit_test(commands_that_use_pip),
        cmocka_unit_test(nodes_with_gpus),
        cmocka_unit_test(gpus_in_a_container),
        cmocka_unit_test(a_container_that_keeps_running),
        cmocka_unit_test(keeping_ray_changes_no_key_of_the_setup),
        cmocka_unit_test(a_worker_in_a_container),
        cmocka_unit_test(commands_that_call_docker),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(only_ray_start_is_tried_twice),
        cmocka_unit_test(a_spot_worker_is_watched),
        cmocka_unit_test(a_gpu_worker_at_google_is_watched),
        cmocka_unit_test(heads_and_bought_machines_are_not_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
