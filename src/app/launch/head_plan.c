/* head_plan.c: builds what is sent to the head. */
#include "app/launch/head_plan.h"
#include "app/launch/launch_prices.h"

#include "app/handover/handover.h"
#include "app/launch/bootstrap.h"
#include "app/local_host.h"
#include "app/paths.h"
#include "app/plugin_command.h"
#include "app/ray_class.h"
#include "app/setup/start_command.h"
#include "base/encode.h"
#include "config/hash.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_BYTES_MAX = 64 * 1024, CA_BYTES_MAX = 1 << 20 };

#define CA_BUNDLE "AWS_CA_BUNDLE"
#define CA_BUNDLE_FILE SERVICE_FOLDER "/ca-bundle.pem"

/* The head's desired state, from the file and the mounted folders. */
struct head_wanted {
    struct str ray_config, service_config; /* as JSON */
    struct str runtime_hash, contents_hash, text;
};

/* ---- the handover ---- */

/* A proxy is a matter of the network: the head has the same one if both use private addresses, and
 * never a proxy on this machine. */
static bool is_for_head(const struct config *config, const char *name, struct str value)
{
    bool is_proxy = strcasecmp(name, "HTTPS_PROXY") == 0;
    bool is_here = str_find(value, "localhost") != SIZE_MAX ||
                   str_find(value, "127.0.0.1") != SIZE_MAX || str_find(value, "[::1]") != SIZE_MAX;
    return (!is_proxy && strcasecmp(name, "NO_PROXY") != 0) ||
           (value_is_true(value_get_c(config->provider, "use_internal_ips")) &&
            !(is_proxy && is_here));
}

/* How this process reaches the cloud, and its machine timeouts, also apply on the head. */
static void gather_environment(const struct config *config, struct handover *handover,
                               struct arena *arena)
{
    static const char *const names[] = {"AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_EC2",
                                        "AWS_ENDPOINT_URL_IAM",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_ENDPOINT_URL_SSM",
                                        "AWS_USE_FIPS_ENDPOINT",
                                        "AWS_USE_DUALSTACK_ENDPOINT",
                                        CA_BUNDLE,
                                        "HTTPS_PROXY",
                                        "https_proxy",
                                        "NO_PROXY",
                                        "no_proxy",
                                        "AUTOSCALER_NODE_START_WAIT_S"};
    struct step_variable *variables = ARENA_ARRAY(arena, ARRAY_LEN(names), struct step_variable);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str value = str_from(getenv(names[i]));
        if (value.len > 0 && is_for_head(config, names[i], value)) {
            bool is_file = strcmp(names[i], CA_BUNDLE) == 0;
            variables[handover->environment_count++] = (struct step_variable){
                str_from(names[i]), is_file ? STR(CA_BUNDLE_FILE) : value};
        }
    }
    handover->environment = variables;
}

static bool gather_records(const struct head_spec *spec, struct handover *handover, struct err *err)
{
    const struct cluster_session *launch = spec->launch;
    handover->written_ms = spec->written_ms;
    return handover_gather(launch->journal, launch->arena, handover, err);
}

static struct str secret_hex(const struct cluster_session *launch)
{
    struct str secret = launch->state.secret;
    char *hex = arena_alloc(launch->arena, secret.len * 2 + 1);
    encode_hex_to(hex, (const uint8_t *)secret.ptr, secret.len);
    return str_from(hex);
}

static bool write_handover(const struct head_spec *spec, const struct head_wanted *wanted,
                           struct str key, bool restarts_ray, struct str *ret_text, struct err *err)
{
    struct cluster_session *launch = spec->launch;
    struct handover handover = {
        .uid = spec->uid,
        .epoch = spec->epoch,
        .lease_object = spec->lease_object,
        .serial = spec->serial,
        .config = wanted->service_config,
        .secret = secret_hex(launch),
        .key = key,
        .public_key = launch->state.public_key,
        .head_id = spec->id,
        .head_private_ip = spec->private_ip,
        .head_public_ip = spec->public_ip,
        .runtime_hash = wanted->runtime_hash,
        .contents_hash = wanted->contents_hash,
        .restarts_ray = restarts_ray,
        .type_zones = launch->type_zones,
        .type_images = launch->type_images,
        .type_disks = launch->core.book.disks,
        .prices = launch_prices_text(launch),
    };
    gather_environment(launch->config, &handover, launch->arena);
    if (spec->epoch != 0 && !gather_records(spec, &handover, err)) {
        return false;
    }
    AUTO_BUF struct buf text;
    buf_init(&text, HANDOVER_BYTES_MAX);
    handover_write(&handover, &text);
    if (text.is_full) {
        return err_set(err, ERR_INTERNAL, "the handover is larger than 16 MB");
    }
    *ret_text = arena_str(launch->arena, buf_str(&text));
    return true;
}

/* ---- files ---- */

static size_t own_workers(const struct cluster_session *launch)
{
    const struct value *workers = value_get_c(launch->config->provider, "worker_ips");
    return config_is_local(launch->config) && value_is(workers, VALUE_LIST) ? workers->list.count
                                                                            : 0;
}

/* Reads the cluster's own key. A key that the user names in the file never leaves this machine. */
static bool head_plan_read_key(const struct cluster_session *launch, struct str *ret_key,
                               struct err *err)
{
    struct buf text;
    buf_init(&text, KEY_BYTES_MAX);
    bool ok = file_read_secret(launch->state.own_key, &text, err);
    if (ok) {
        *ret_key = arena_str(launch->arena, buf_str(&text));
    }
    buf_wipe(&text);
    return ok;
}

static bool add_ca_bundle(struct arena *arena, struct node_file *files, size_t *count,
                          struct err *err)
{
    const char *path = getenv(CA_BUNDLE);
    AUTO_BUF struct buf text;
    buf_init(&text, CA_BYTES_MAX);
    if (!path || path[0] == '\0') {
        return true;
    }
    if (!file_read(file_expand_home(arena, str_from(path)).ptr, &text, err)) {
        return err_wrap(err, CA_BUNDLE " is also for the head");
    }
    files[(*count)++] = (struct node_file){STR(CA_BUNDLE_FILE), arena_str(arena, buf_str(&text)),
                                           0600};
    return true;
}

/* The host keys of own machines, which this machine has seen first. */
static bool add_host_keys(const struct cluster_session *launch, struct node_file *files,
                          size_t *count, struct err *err)
{
    const struct value *workers = value_get_c(launch->config->provider, "worker_ips");
    for (size_t i = 0; i < own_workers(launch); i++) {
        AUTO_BUF struct buf text;
        struct str host = value_text(workers->list.items[i]);
        const char *path = cluster_state_known_hosts(&launch->state, host, launch->arena);
        buf_init(&text, KEY_BYTES_MAX);
        if (!cluster_state_is_pinned(&launch->state, host)) {
            continue; /* it did not answer; the next `up` may see it */
        }
        if (!file_read(path, &text, err)) {
            return false;
        }
        files[(*count)++] = (struct node_file){
            arena_printf(launch->arena, SERVICE_FOLDER "/known_hosts%s", strrchr(path, '/')),
            arena_str(launch->arena, buf_str(&text)), 0600};
    }
    return true;
}

static const struct node_file *files_of(const struct cluster_session *launch,
                                        struct str config_json, struct str handover, struct str key,
                                        size_t *ret_count, struct err *err)
{
    const struct node_file files[] = {
        {STR(HANDOVER_FILE), handover, 0600},
        {STR(BOOTSTRAP_CONFIG), config_json, 0600},
        {STR(BOOTSTRAP_KEY), key, 0600},
    };
    struct node_file *plugin;
    struct node_file class[RAY_CLASS_FILES_MAX];
    size_t plugin_count;
    size_t class_count;
    if (!plugin_command_files(launch->config, launch->arena, &plugin, &plugin_count, err) ||
        !ray_class_files(launch->config, launch->state.folder, launch->arena, class, &class_count,
                         err)) {
        return NULL;
    }
    size_t most = ARRAY_LEN(files) + 1 + plugin_count + class_count + own_workers(launch);
    struct node_file *kept = ARENA_ARRAY(launch->arena, most, struct node_file);
    memcpy(kept, files, sizeof(files));
    *ret_count = ARRAY_LEN(files);
    for (size_t i = 0; i < plugin_count; i++) {
        kept[(*ret_count)++] = plugin[i];
    }
    for (size_t i = 0; i < class_count; i++) {
        kept[(*ret_count)++] = class[i];
    }
    return add_ca_bundle(launch->arena, kept, ret_count, err) &&
                   add_host_keys(launch, kept, ret_count, err)
               ? kept
               : NULL;
}

/* ---- the desired state ---- */

/* Changes if a file of the plug-in does. */
static bool hash_plugin(const struct cluster_session *launch, uint64_t *hash, struct err *err)
{
    struct node_file *files;
    size_t count;
    if (!plugin_command_files(launch->config, launch->arena, &files, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        *hash = str_hash_from(*hash, files[i].bytes);
    }
    struct node_file class[RAY_CLASS_FILES_MAX];
    if (!ray_class_files(launch->config, NULL, launch->arena, class, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        *hash = str_hash_from(*hash, class[i].bytes);
    }
    return true;
}

static bool work_out(const struct cluster_session *launch, struct head_wanted *wanted,
                     struct err *err)
{
    const struct value *tree = launch->config->tree;
    const struct hash_runtime_input input = {
        .file_mounts = value_get_c(tree, "file_mounts"),
        .extra = tree,
    };
    if (!bootstrap_config(launch->config, BOOTSTRAP_FOR_RAY, launch->setup->no_restart,
                          launch->arena, &wanted->ray_config, err) ||
        !bootstrap_config(launch->config, BOOTSTRAP_FOR_SERVICE, launch->setup->no_restart,
                          launch->arena, &wanted->service_config, err) ||
        !hash_runtime(launch->arena, local_host(), &input, &wanted->runtime_hash,
                      &wanted->contents_hash, err)) {
        return false;
    }
    uint64_t hash = str_hash(wanted->service_config);
    if (!hash_plugin(launch, &hash, err)) {
        return false;
    }
    wanted->text = arena_printf(launch->arena, "%.*s %016llx %s", STR_ARG(wanted->runtime_hash),
                                (unsigned long long)hash, SHOAL_VERSION);
    return true;
}

/* Computed once, since it reads every mounted file. Returns NULL and sets `err` on failure. */
static const struct head_wanted *head_plan_find_wanted(struct cluster_session *launch,
                                                       struct err *err)
{
    if (!launch->wanted) {
        struct head_wanted *wanted = ARENA_NEW(launch->arena, struct head_wanted);
        launch->wanted = work_out(launch, wanted, err) ? wanted : NULL;
    }
    return launch->wanted;
}

bool head_plan_wanted(struct cluster_session *launch, struct str *ret_wanted, struct err *err)
{
    const struct head_wanted *wanted = head_plan_find_wanted(launch, err);
    if (wanted) {
        *ret_wanted = wanted->text;
    }
    return wanted != NULL;
}

/* ---- the steps ---- */

static enum setup_restart restart_of(const struct launcher_setup *setup)
{
    return setup->no_restart     ? SETUP_NO_RESTART
           : setup->restart_only ? SETUP_RESTART_ONLY
                                 : SETUP_RESTARTS;
}

static struct str key_of(const struct setup_plan *plan, struct arena *arena)
{
    const struct bundle *bundle = &plan->request.bundle;
    char(*keys)[STEP_KEY_SIZE] = arena_array(arena, bundle->count, STEP_KEY_SIZE);
    bundle_keys(bundle, keys);
    return str_from(keys[bundle->count - 1]);
}

static struct str done_text(struct str head_id, struct str key, struct arena *arena)
{
    return arena_printf(arena, "%.*s %.*s", STR_ARG(head_id), STR_ARG(key));
}

/* Were exactly these steps completed on this head? */
static bool head_plan_was_done(const struct head_spec *spec, struct str key)
{
    struct cluster_session *launch = spec->launch;
    struct str done;
    struct err err;
    return launch->journal &&
           journal_get(launch->journal, "head-steps", launch->arena, &done, &err) && done.ptr &&
           str_eq(done, done_text(spec->id, key, launch->arena));
}

bool head_plan_done(const struct cluster_session *launch, const struct head_plan *plan,
                    struct str head_id, struct err *err)
{
    struct str done = done_text(head_id, plan->steps_key, launch->arena);
    return journal_note(launch->journal, "head-steps", done, err);
}

/* Do the steps start Ray? If so, existing workers wait in order to join the new one. */
static bool starts_ray(const struct setup_plan *plan)
{
    for (size_t i = 0; i < plan->request.bundle.count; i++) {
        if (plan->steps[i].phase == SETUP_IS_STARTING &&
            start_command_is_ray(plan->request.bundle.steps[i].command)) {
            return true;
        }
    }
    return false;
}

/* Plans the steps only; files are not part of their key. Steps that were completed on this head are
 * not repeated. */
static bool plan_steps(const struct head_spec *spec, const struct setup_input *all,
                       struct head_plan *plan, enum setup_restart *ret_restart, struct err *err)
{
    struct cluster_session *launch = spec->launch;
    struct setup_input input = *all;
    if (!setup_plan_make(&input, launch->arena, &plan->setup, err)) {
        return false;
    }
    plan->steps_key = key_of(&plan->setup, launch->arena);
    if (input.restart == SETUP_RESTARTS && !launch->restarts_ray &&
        head_plan_was_done(spec, plan->steps_key)) {
        input.restart = SETUP_NO_RESTART;
        if (!setup_plan_make(&input, launch->arena, &plan->setup, err)) {
            return false;
        }
    }
    *ret_restart = input.restart;
    return true;
}

static struct setup_input input_of(const struct head_spec *spec, const struct head_wanted *wanted)
{
    const struct cluster_session *launch = spec->launch;
    const struct config *config = launch->config;
    return (struct setup_input){
        .config = config,
        .type = &config->node_types[config->head_type],
        .is_head = true,
        .instance_id = spec->id,
        .machine = spec->machine,
        .is_spot = spec->is_spot,
        .runtime_hash = wanted->contents_hash,
        .has_usage_stats = launch->setup->has_usage_stats,
        .restart = restart_of(launch->setup),
    };
}

bool head_plan_restarts(const struct head_spec *spec, bool *ret_restarts, struct err *err)
{
    const struct head_wanted *wanted = head_plan_find_wanted(spec->launch, err);
    struct head_plan plan = {0};
    enum setup_restart restart;
    if (!wanted) {
        return false;
    }
    struct setup_input input = input_of(spec, wanted);
    if (!plan_steps(spec, &input, &plan, &restart, err)) {
        return false;
    }
    *ret_restarts = starts_ray(&plan.setup);
    return true;
}

bool head_plan_make(const struct head_spec *spec, struct head_plan *ret_plan, struct err *err)
{
    struct cluster_session *launch = spec->launch;
    const struct head_wanted *wanted = head_plan_find_wanted(launch, err);
    struct str handover;
    struct str key;
    if (!wanted || !head_plan_read_key(launch, &key, err)) {
        return false;
    }
    struct setup_input input = input_of(spec, wanted);
    struct head_plan plan = {.wanted = wanted->text, .runtime_hash = wanted->runtime_hash};
    if (!plan_steps(spec, &input, &plan, &input.restart, err) ||
        !write_handover(spec, wanted, key, starts_ray(&plan.setup), &handover, err)) {
        return false;
    }
    input.files = files_of(launch, wanted->ray_config, handover, key, &input.file_count, err);
    if (!input.files || !setup_plan_make(&input, launch->arena, &plan.setup, err)) {
        return false;
    }
    *ret_plan = plan;
    return true;
}
