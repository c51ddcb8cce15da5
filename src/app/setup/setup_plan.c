/*
 * setup_plan.c: builds the steps of one node: the file's commands, with Ray's environment, between
 * our own steps.
 */
#include "app/setup/setup_plan.h"

#include "app/handover/handover.h"
#include "app/node/notice.h"
#include "app/setup/command_list.h"
#include "app/setup/container.h"
#include "app/setup/start_command.h"
#include "config/catalog/gce_machine.h"
#include "config/document/json_write.h"
#include "ray/version.h"

enum {
    VARIABLES_MAX = 12,
    JSON_MAX = 1 << 20,
    /* Limits for our own steps. The file's commands have no limit, as in Ray. */
    QUICK_MINUTES = 2,
    INSTALL_MINUTES = 30,
    GATE_MINUTES = 20, /* above its own limit */
    GPU_MINUTES = 15,  /* the same */
};

/* Longer than a reboot, but short enough to limit the cost of workers whose head is gone for
 * good. */
#define RECONNECT_SECONDS "600"
#define OWN(words) SETUP_PROGRAM " " words
#define INSIDE OWN("node inside")

/* A plan under construction. */
struct setup_plan_maker {
    const struct setup_input *input;
    struct arena *arena;
    struct setup_plan *plan;
    struct step *steps;
    struct setup_step *infos;
    size_t count, capacity, info_capacity;
    size_t warning_capacity;
    bool has_own_auth;
};

struct variables {
    struct step_variable *items;
    size_t count;
};

/* ---- adding ---- */

static void setup_plan_warn(struct setup_plan_maker *maker, struct str text)
{
    struct setup_plan *plan = maker->plan;
    ARENA_PUSH(maker->arena, plan->warnings, plan->warning_count, maker->warning_capacity) = text;
}

static void setup_plan_add_step(struct setup_plan_maker *maker, const struct setup_step *info,
                                const struct step *step)
{
    ARENA_GROW(maker->arena, maker->steps, maker->count, maker->capacity);
    ARENA_GROW(maker->arena, maker->infos, maker->count, maker->info_capacity);
    maker->steps[maker->count] = *step;
    maker->infos[maker->count] = *info;
    struct str name = str_from(info->kind);
    if (info->command.len > 0) {
        name = arena_printf(maker->arena, "%s %zu of %zu", info->kind, info->number, info->count);
    }
    maker->steps[maker->count++].name = name;
}

static const struct config_docker *docker_of(const struct setup_plan_maker *maker)
{
    const struct config_node_type *type = maker->input->type;
    return container_is_used(type) ? &type->docker : NULL;
}

/* Where a command of the file runs: as in Ray, in the container, unless it calls docker itself. */
static struct str inside_of(const struct setup_plan_maker *maker, struct str command)
{
    const struct config_docker *docker = docker_of(maker);
    return docker && !container_runs_on_host(docker, command) ? STR(INSIDE) : STR("");
}

static void setup_plan_add_variable(struct variables *variables, const char *name, struct str value)
{
    variables->items[variables->count++] = (struct step_variable){str_from(name), value};
}

/* metadata.shoal.gcs_store; its values are validated with the file. */
static bool is_on_disk(const struct setup_plan_maker *maker)
{
    return str_is(value_text(value_get_c(maker->input->config->shoal, "gcs_store")), "disk");
}

static struct variables new_variables(struct setup_plan_maker *maker)
{
    return (struct variables){ARENA_ARRAY(maker->arena, VARIABLES_MAX, struct step_variable), 0};
}

/* ---- the environment ---- */

/* A part of the node type in the form that Ray's updater uses: JSON without blanks. Adds nothing
 * for {}. */
static bool add_json(struct setup_plan_maker *maker, struct variables *variables, const char *name,
                     const char *key, struct err *err)
{
    const struct value *types = value_get_c(maker->input->config->tree, "available_node_types");
    const struct value *own = value_get(types, maker->input->type->name);
    const struct value *part = value_get_c(own, key);
    if (!value_is_true(part)) {
        return true;
    }
    AUTO_BUF struct buf json;
    buf_init(&json, JSON_MAX);
    if (!json_write(&json, part, JSON_TIGHT, err)) {
        return false;
    }
    setup_plan_add_variable(variables, name, arena_str(maker->arena, buf_str(&json)));
    return true;
}

/* The folder is only known on the head (node_store.c). Raylets and their workers wait for an
 * unavailable GCS instead of exiting after a minute, as Ray's documentation recommends. */
static void add_store(const struct setup_plan_maker *maker, struct variables *variables)
{
    if (maker->input->is_head) {
        setup_plan_add_variable(variables, "RAY_gcs_storage", STR("rocksdb"));
    }
    setup_plan_add_variable(variables, "RAY_gcs_rpc_server_reconnect_timeout_s",
                            STR(RECONNECT_SECONDS));
}

/* The variables of every start command: those that Ray's launcher and updater export, and those
 * from which its labels are derived. Authentication is set in ~/.shoal/env.sh, which depends on
 * this Ray's version (node_env.c). */
static bool start_variables(struct setup_plan_maker *maker, struct variables *ret_variables,
                            struct err *err)
{
    const struct setup_input *input = maker->input;
    struct variables variables = new_variables(maker);
    if (input->is_head) {
        setup_plan_add_variable(&variables, "RAY_USAGE_STATS_ENABLED",
                                input->has_usage_stats ? STR("1") : STR("0"));
        setup_plan_add_variable(&variables, "RAY_enable_autoscaler_v2", STR("1"));
    } else {
        setup_plan_add_variable(&variables, "RAY_HEAD_IP", input->head_ip);
    }
    if (!str_is(input->config->provider_type, "local") &&
        (!add_json(maker, &variables, "RAY_OVERRIDE_RESOURCES", "resources", err) ||
         !add_json(maker, &variables, "RAY_OVERRIDE_LABELS", "labels", err))) {
        return false;
    }
    setup_plan_add_variable(&variables, "RAY_CLOUD_INSTANCE_ID", input->instance_id);
    setup_plan_add_variable(&variables, "RAY_NODE_TYPE_NAME", input->type->name);
    setup_plan_add_variable(&variables, "RAY_CLOUD_INSTANCE_TYPE_NAME", input->machine);
    if (input->is_spot) {
        setup_plan_add_variable(&variables, "RAY_NODE_MARKET_TYPE", STR("spot"));
    }
    if (is_on_disk(maker)) {
        add_store(maker, &variables);
    }
    *ret_variables = variables;
    return true;
}

bool setup_has_own_auth(const struct config *config)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        for (size_t j = 0; j < type->start_commands.count; j++) {
            if (str_find(type->start_commands.items[j], "RAY_AUTH_MODE") != SIZE_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the file's commands ---- */

/*
 * Ray runs each command in a connection of its own, so that a user who was added to the group
 * `docker` can use Docker in the next one. Here they share a session, which has the groups of its
 * start: the script then runs again, as a member.
 */
#define JOIN_GROUP                                                                \
    "if [ -z \"$SHOAL_JOINED\" ] && command -v sg >/dev/null && "                 \
    "id -nG \"$(id -un)\" | grep -qw docker && ! id -nG | grep -qw docker; then " \
    "SHOAL_JOINED=1 exec sg docker -c 'exec bash \"$SHOAL_STEP\"'; fi\n"

/* A command that runs on the machine. */
static struct str machine_text(const struct setup_plan_maker *maker, struct str command)
{
    const struct config_docker *docker = docker_of(maker);
    AUTO_BUF struct buf out; /* printf would stop at a zero byte */
    buf_init(&out, command.len + sizeof(JOIN_GROUP));
    buf_add_c(&out, docker && !docker->use_podman ? JOIN_GROUP : "");
    buf_add(&out, command);
    return arena_str(maker->arena, buf_str(&out));
}

static void add_commands(struct setup_plan_maker *maker, const char *kind,
                         const struct command_list *list, bool is_inside)
{
    const struct setup_input *input = maker->input;
    struct variables variables = new_variables(maker);
    if (!input->is_head) {
        setup_plan_add_variable(&variables, "RAY_HEAD_IP", input->head_ip);
    }
    for (size_t i = 0; i < list->count; i++) {
        struct str text = list->items[i].text;
        struct setup_step info = {
            .kind = kind,
            .number = i + 1,
            .count = list->count,
            .command = text,
            .path = list->items[i].path,
            .phase = SETUP_IS_SETUP,
        };
        struct str inside = is_inside ? inside_of(maker, text) : STR("");
        setup_plan_add_step(maker, &info,
                            &(struct step){
                                .command = inside.len > 0 ? text : machine_text(maker, text),
                                .inside = inside,
                                .variables = variables.items,
                                .variable_count = variables.count,
                            });
    }
}

static void look_at_dashboard(struct setup_plan_maker *maker, const struct command_item *item)
{
    struct str host;
    if (!item->is_default && start_command_opens_dashboard(item->text, &host)) {
        setup_plan_warn(
            maker, arena_printf(maker->arena,
                                "%.*s has --dashboard-host=%.*s: Ray's dashboard, which can run "
                                "anything on the cluster, is open to every machine that can "
                                "reach the head. Remove the option to keep it local; `shoal "
                                "dashboard` forwards it to you",
                                STR_ARG(item->path), STR_ARG(host)));
    }
}

static struct str start_text(struct setup_plan_maker *maker, const struct command_item *item)
{
    struct str text = item->text;
    if (maker->input->is_head) {
        look_at_dashboard(maker, item);
        text = start_command_for_head(text, item->is_default, OWN("node start"), maker->arena);
    }
    if (maker->input->is_head && is_on_disk(maker)) {
        text = start_command_with_store(text, OWN("node store"), maker->arena);
    }
    return start_command_with_quick_stop(text, OWN("node idle"), maker->arena);
}

/* The index of the last command that runs in the container; the count if there is none. */
static size_t last_inside(const struct setup_plan_maker *maker, const struct command_list *list)
{
    size_t last = list->count;
    for (size_t i = 0; i < list->count; i++) {
        last = inside_of(maker, list->items[i].text).len > 0 ? i : last;
    }
    return last;
}

static bool add_starts(struct setup_plan_maker *maker, struct err *err)
{
    struct command_list list = command_list_start(maker->input->config, maker->input->type,
                                                  maker->arena);
    struct variables variables;
    bool has_start = false;
    /* A new container needs Ray in any case. That is not a restart: Ray ran in the old one. */
    bool is_once = maker->input->restart == SETUP_NO_RESTART;
    size_t last = last_inside(maker, &list);
    if (!start_variables(maker, &variables, err)) {
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        struct setup_step info = {
            .kind = "start",
            .number = i + 1,
            .count = list.count,
            .command = list.items[i].text,
            .path = list.items[i].path,
            .phase = is_once ? SETUP_IS_SETUP : SETUP_IS_STARTING,
        };
        struct str inside = inside_of(maker, list.items[i].text);
        if (inside.len > 0) {
            inside = arena_printf(maker->arena, INSIDE "%s%s", is_once ? " --once" : "",
                                  i == last ? " --last" : "");
        }
        struct str text = start_text(maker, &list.items[i]);
        bool is_start = start_command_is_ray(list.items[i].text);
        has_start = has_start || is_start;
        setup_plan_add_step(maker, &info,
                            &(struct step){
                                .command = inside.len > 0 ? text : machine_text(maker, text),
                                .inside = inside,
                                .variables = variables.items,
                                .variable_count = variables.count,
                                .is_always = true,
                                .attempts = is_start ? 2 : 1,
                            });
    }
    if (!has_start) {
        const char *key = maker->input->is_head ? "head" : "worker";
        setup_plan_warn(maker,
                        arena_printf(maker->arena,
                                     "Ray will not be started: no command of %s_start_ray_commands "
                                     "contains `ray start`",
                                     key));
    }
    return true;
}

/* ---- our own steps ---- */

static void setup_plan_add_own(struct setup_plan_maker *maker, struct setup_step info,
                               struct str command, struct str inside, int64_t minutes,
                               bool is_always)
{
    setup_plan_add_step(maker, &info,
                        &(struct step){
                            .command = command,
                            .inside = inside,
                            .deadline_ms = minutes * 60 * 1000,
                            .is_always = is_always,
                        });
}

static void add_probe(struct setup_plan_maker *maker, const struct command_list *first,
                      const struct command_list *set_up)
{
    AUTO_BUF struct buf command;
    buf_init(&command, 4096);
    const struct config_docker *docker = docker_of(maker);
    buf_add_c(&command, OWN("node probe"));
    if (docker) {
        buf_addf(&command, " --container %s", container_program(docker));
    }
    if (first->count + set_up->count == 0) {
        buf_add_c(&command, " --bare");
    }
    const char *need = command_list_need(first, set_up);
    if (need) {
        bool is_made = first->count == 0 && str_starts(str_from(need), "pip"); /* node_python() */
        buf_addf(&command, " --need %s", is_made ? "python3" : need);
    }
    /* The keys of all later steps depend on this one's. */
    struct variables variables = new_variables(maker);
    if (maker->input->runtime_hash.len > 0) {
        setup_plan_add_variable(&variables, "SHOAL_RUNTIME_HASH", maker->input->runtime_hash);
    }
    setup_plan_add_step(maker, &(struct setup_step){.kind = "checking the machine"},
                        &(struct step){
                            .command = arena_str(maker->arena, buf_str(&command)),
                            .deadline_ms = (int64_t)QUICK_MINUTES * 60 * 1000,
                            .variables = variables.items,
                            .variable_count = variables.count,
                        });
}

/* A new Ubuntu has no pip, and its Python refuses packages. What the commands install must be where
 * Ray is, because tasks import it. */
static void setup_plan_add_python(struct setup_plan_maker *maker, const struct command_list *set_up)
{
    bool uses_pip = false;
    for (size_t i = 0; i < set_up->count; i++) {
        uses_pip = uses_pip || str_find(set_up->items[i].text, "pip") != SIZE_MAX;
    }
    if (uses_pip) {
        setup_plan_add_own(maker, (struct setup_step){.kind = "finding or installing pip"},
                           STR(OWN("node python")), STR(""), INSTALL_MINUTES, false);
    }
}

/* Some tests declare GPUs for machines that have none, as Ray allows. */
static bool setup_plan_has_no_gpu(const struct setup_plan_maker *maker)
{
    const struct value *node = maker->input->type->node_config;
    struct machine_type machine;
    bool is_known = str_is(maker->input->config->provider_type, "gcp")
                        ? gce_machine_of(maker->arena, node, &machine)
                        : catalog_ec2_type(value_text(value_get_c(node, "InstanceType")), &machine);
    return is_known && machine.gpus == 0;
}

/* Ray offers GPUs even if no driver can use them. For a container, the machine must have its driver
 * first: `docker run` looks for GPUs once. */
static void setup_plan_add_gpu(struct setup_plan_maker *maker, bool is_inside)
{
    int64_t amount = resource_amount(maker->input->type->resources, STR("GPU"));
    const struct config_docker *docker = docker_of(maker);
    if (amount > 0 && !setup_plan_has_no_gpu(maker)) {
        setup_plan_add_own(maker, (struct setup_step){.kind = "GPU check"},
                           arena_printf(maker->arena, OWN("node gpu --count %lld%s%s"),
                                        (long long)(amount / RESOURCE_UNIT),
                                        is_inside ? " --container " : "",
                                        is_inside ? container_program(docker) : ""),
                           is_inside ? STR(INSIDE) : STR(""), GPU_MINUTES, true);
    }
}

/* Checked every time: a machine that was stopped has no container. */
static void setup_plan_add_container(struct setup_plan_maker *maker)
{
    const struct setup_input *input = maker->input;
    struct variables variables = new_variables(maker);
    AUTO_BUF struct buf text;
    buf_init(&text, JSON_MAX);
    struct container_spec spec = container_spec_of(input->config, input->type, maker->arena);
    container_spec_write(&spec, &text);
    setup_plan_add_variable(&variables, CONTAINER_VARIABLE,
                            arena_str(maker->arena, buf_str(&text)));
    if (input->restart == SETUP_NO_RESTART) { /* the setup commands must not run again */
        setup_plan_add_variable(&variables, STEP_KEEP_VARIABLE, STR("1"));
    }
    bool makes_token = input->is_head && !maker->has_own_auth;
    setup_plan_add_gpu(maker, false);
    setup_plan_add_step(maker, &(struct setup_step){.kind = "container start"},
                        &(struct step){
                            .command = arena_printf(maker->arena, OWN("node container%s"),
                                                    makes_token ? " --make-token" : ""),
                            .variables = variables.items,
                            .variable_count = variables.count,
                            .is_always = true,
                        });
}

/* The text becomes a word of a shell command. */
static bool is_version(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '+';
        if (!is_fine) {
            return false;
        }
    }
    return text.len > 0 && text.len < 64;
}

static bool setup_plan_add_ray(struct setup_plan_maker *maker, struct err *err)
{
    const struct setup_input *input = maker->input;
    struct str version = input->ray_version;
    if (version.len == 0) {
        version = value_text(value_get_c(input->config->shoal, "ray_version"));
    }
    if (version.len == 0) {
        version = STR(RAY_VERSION_TESTED);
    }
    if (!is_version(version)) {
        return err_set(err, ERR_CONFIG, "metadata.shoal.ray_version: \"%.*s\" is not a Ray release",
                       STR_ARG(version));
    }
    const char *auth = "";
    if (!maker->has_own_auth) {
        auth = input->is_head ? " --make-token" : input->token.len > 0 ? " --token" : "";
    }
    setup_plan_add_own(maker, (struct setup_step){.kind = "finding or installing Ray"},
                       arena_printf(maker->arena,
                                    OWN("node ray --version %.*s && ") OWN("node env%s"),
                                    STR_ARG(version), auth),
                       docker_of(maker) ? STR(INSIDE " && " INSIDE " --note-ray") : STR(""),
                       INSTALL_MINUTES, false);
    return true;
}

/* "--gcs ADDRESS --token-file FILE" for a worker's steps; empty if the file does not give the
 * port. */
static struct str gcs_words(struct setup_plan_maker *maker)
{
    const struct setup_input *input = maker->input;
    const struct config *config = input->config;
    const struct config_node_type *head = &config->node_types[config->head_type];
    uint32_t port = start_command_port(head->start_commands.items, head->start_commands.count);
    bool is_v6 = str_find_char(input->head_ip, ':') != SIZE_MAX;
    if (port == 0) {
        return STR("");
    }
    return arena_printf(maker->arena, "--gcs %s%.*s%s:%u%s", is_v6 ? "[" : "",
                        STR_ARG(input->head_ip), is_v6 ? "]" : "", port,
                        input->token.len > 0 ? " --token-file " SETUP_TOKEN_FILE : "");
}

static void add_gate(struct setup_plan_maker *maker)
{
    struct str gcs = gcs_words(maker);
    if (gcs.len == 0) {
        return; /* `ray start` itself reports whether it reaches the head */
    }
    setup_plan_add_own(
        maker,
        (struct setup_step){.kind = "waiting for Ray on the head", .phase = SETUP_IS_WAITING},
        arena_printf(maker->arena, OWN("node gate %.*s"), STR_ARG(gcs)),
        docker_of(maker) ? STR(INSIDE) : STR(""), GATE_MINUTES, true);
}

/* Google cannot move instances with GPUs to another host, and says an hour before that it will stop
 * one. */
static bool setup_plan_is_told_of_maintenance(const struct setup_input *input)
{
    const struct value *types = value_get_c(input->config->tree, "available_node_types");
    const struct value *gpus = value_path(value_get(types, input->type->name), "resources.GPU");
    return str_is(input->config->provider_type, "gcp") && !input->is_spot && value_is_true(gpus);
}

/* The head is never drained on a notice: that would not help. */

static void setup_plan_add_watch(struct setup_plan_maker *maker)
{
    const struct setup_input *input = maker->input;
    struct str gcs = gcs_words(maker);
    struct str provider = input->config->provider_type;
    bool has_maintenance = setup_plan_is_told_of_maintenance(input);
    if (input->is_head || !(input->is_spot || has_maintenance) || gcs.len == 0 ||
        !metadata_api(provider)) {
        return;
    }
    bool heeds_advice = has_maintenance ||
                        value_is_true(value_get_c(input->config->shoal, "rebalance"));
    struct variables variables = new_variables(maker);
    setup_plan_add_variable(&variables, "RAY_CLOUD_INSTANCE_ID", input->instance_id);
    setup_plan_add_step(
        maker, &(struct setup_step){.kind = "spot watcher start", .phase = SETUP_IS_STARTING},
        &(struct step){
            .command = arena_printf(
                maker->arena,
                OWN("node watch --provider %.*s --instance-id \"$RAY_CLOUD_INSTANCE_ID\" "
                    "%.*s%s"),
                STR_ARG(provider), STR_ARG(gcs), heeds_advice ? " --rebalance" : ""),
            .deadline_ms = (int64_t)QUICK_MINUTES * 60 * 1000,
            .variables = variables.items,
            .variable_count = variables.count,
            .is_always = true,
        });
}

/* After a reboot the container is gone, and with it what the setup commands did in it. */
static bool add_container_steps(struct setup_plan_maker *maker, struct err *err)
{
    if (!docker_of(maker)) {
        return true;
    }
    struct command_list set_up = command_list_set_up(maker->input->config, maker->input->type,
                                                     maker->arena);
    setup_plan_add_container(maker);
    add_commands(maker, "setup", &set_up, true);
    return setup_plan_add_ray(maker, err);
}

/* ---- files ---- */

/* The head's start commands as a bundle: the service runs them after a reboot. */
static bool write_starts(const struct setup_plan_maker *maker, struct str *ret_text,
                         struct err *err)
{
    struct setup_plan nowhere = {0};
    struct setup_input input = *maker->input;
    input.restart = SETUP_RESTARTS;
    struct setup_plan_maker starts = {.input = &input,
                                      .arena = maker->arena,
                                      .plan = &nowhere,
                                      .has_own_auth = maker->has_own_auth};
    AUTO_BUF struct buf text;
    buf_init(&text, BUNDLE_BYTES_MAX);
    if (!add_container_steps(&starts, err)) {
        return false;
    }
    setup_plan_add_gpu(&starts, docker_of(maker) != NULL);
    if (!add_starts(&starts, err)) {
        return false;
    }
    if (!bundle_write(&(struct bundle){starts.steps, starts.count}, &text, err)) {
        return false;
    }
    *ret_text = arena_str(maker->arena, buf_str(&text));
    return true;
}

static bool add_files(struct setup_plan_maker *maker, struct err *err)
{
    const struct setup_input *input = maker->input;
    struct node_file *files = ARENA_ARRAY(maker->arena, input->file_count + 3, struct node_file);
    size_t count = 0;
    if (input->is_head) {
        struct str starts;
        if (!write_starts(maker, &starts, err)) {
            return false;
        }
        files[count++] = (struct node_file){STR(SETUP_STARTS_FILE), starts, 0600};
    }
    if (input->handover.len > 0) {
        files[count++] = (struct node_file){STR(HANDOVER_FILE), input->handover, 0600};
    }
    if (!input->is_head && input->token.len > 0) {
        files[count++] = (struct node_file){STR(SETUP_TOKEN_FILE), input->token, 0600};
    }
    for (size_t i = 0; i < input->file_count; i++) {
        files[count++] = input->files[i];
    }
    maker->plan->request.files = files;
    maker->plan->request.file_count = count;
    return true;
}

/* ---- entry points ---- */

static bool setup_plan_add_all(struct setup_plan_maker *maker, struct err *err)
{
    const struct setup_input *input = maker->input;
    struct command_list first = command_list_first(input->config, input->type, maker->arena);
    struct command_list set_up = command_list_set_up(input->config, input->type, maker->arena);
    const struct command_list none = {0};
    bool is_docker = docker_of(maker) != NULL;
    if (input->restart == SETUP_RESTART_ONLY && !is_docker) { /* as in Ray */
        set_up.count = 0;
    }
    if (input->is_head) {
        setup_plan_add_own(maker, (struct setup_step){.kind = "service start"},
                           STR(OWN("autoscaler --background")), STR(""), QUICK_MINUTES, true);
    }
    add_probe(maker, &first, is_docker ? &none : &set_up);
    add_commands(maker, "initialization", &first, false);
    if (is_docker) {
        setup_plan_add_container(maker);
    } else {
        setup_plan_add_python(maker, &set_up);
    }
    add_commands(maker, "setup", &set_up, true);
    if (!setup_plan_add_ray(maker, err)) {
        return false;
    }
    if (input->restart != SETUP_NO_RESTART || is_docker) {
        setup_plan_add_gpu(maker, is_docker);
        if (!input->is_head) {
            add_gate(maker);
        }
        if (!add_starts(maker, err)) {
            return false;
        }
    }
    setup_plan_add_watch(maker);
    return true;
}

bool setup_plan_make(const struct setup_input *input, struct arena *arena,
                     struct setup_plan *ret_plan, struct err *err)
{
    struct setup_plan plan = {0};
    struct setup_plan_maker maker = {
        .input = input,
        .arena = arena,
        .plan = &plan,
        .has_own_auth = setup_has_own_auth(input->config),
    };
    if (!add_files(&maker, err) || !setup_plan_add_all(&maker, err)) {
        return err_wrap(err, "%.*s", STR_ARG(input->type->name));
    }
    plan.request.bundle = (struct bundle){maker.steps, maker.count};
    plan.steps = maker.infos;
    *ret_plan = plan;
    return true;
}

/* ---- contact ---- */

enum { USUAL_S = 900, LONGEST_S = 24 * 3600 };

int64_t setup_contact_ms(void)
{
    int64_t seconds;
    bool is_said = str_to_i64(str_from(getenv("AUTOSCALER_NODE_START_WAIT_S")), &seconds) &&
                   seconds > 0 && seconds <= LONGEST_S;
    return (is_said ? seconds : USUAL_S) * 1000;
}
