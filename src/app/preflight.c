/* preflight.c: adds findings about payloads and Python to the provider's. */
#include "app/preflight.h"

#include "app/session_manager.h"
#include "app/user_data.h"
#include "ray/version.h"

#include <stdlib.h>

struct preflight_state {
    struct provider *provider;
    const struct config *config;
    struct arena *arena;
    provider_preflight_fn *done;
    void *context;
};

static struct finding *preflight_add(struct preflight_findings *all, const char *subject,
                                     struct str text, struct str remedy)
{
    struct finding *finding = &all->items[all->count++];
    *finding = (struct finding){
        .level = FINDING_ERROR, .subject = str_from(subject), .text = text, .remedy = remedy};
    return finding;
}

/* The keys of the file that say so. */
static const char *key_of_type(const struct config *config)
{
    return str_is(config->provider_type, "gcp") ? "machineType" : "InstanceType";
}

static const char *key_of_image(const struct config *config)
{
    return str_is(config->provider_type, "gcp") ? "disks" : "ImageId";
}

/* ---- payloads ---- */

static bool is_first(const struct provider_type_facts *types, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (str_eq(types[i].architecture, types[index].architecture)) {
            return false;
        }
    }
    return types[index].architecture.len > 0;
}

static void find_payloads(const struct config *config, const struct provider_type_facts *types,
                          const struct payload_places *places, struct arena *arena,
                          struct preflight_findings *all)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str path;
        struct err err;
        if (is_first(types, i) &&
            !payload_find(arena, places, types[i].architecture, &path, &err)) {
            struct str remedy = arena_str(arena, str_from(err.text));
            struct str text = str_cut(&remedy, '\n');
            preflight_add(all, "program", text, str_trim(remedy));
        }
    }
}

/* The head sets up its workers with the program that it runs itself. */
static void find_mixture(const struct config *config, const struct provider_type_facts *types,
                         struct arena *arena, struct preflight_findings *all)
{
    struct str head = types[config->head_type].architecture;
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct str name = config->node_types[i].name;
        struct str own = types[i].architecture;
        if (head.len > 0 && own.len > 0 && !str_eq(own, head)) {
            struct str text = arena_printf(
                arena,
                "node type %.*s uses %.*s and the head uses %.*s; this release of shoal needs the "
                "same architecture for all nodes",
                STR_ARG(name), STR_ARG(own), STR_ARG(head));
            struct finding *finding = preflight_add(
                all, "program", text,
                arena_printf(arena, "choose another %s", key_of_type(config)));
            finding->path = arena_printf(arena, "available_node_types.%.*s.node_config.%s",
                                         STR_ARG(name), key_of_type(config));
            return;
        }
    }
}

/* ---- images ---- */

static bool preflight_has_own(const struct value *list)
{
    const struct value *first = value_is(list, VALUE_LIST) && list->list.count > 0
                                    ? list->list.items[0]
                                    : NULL;
    return first && !(first->place.source && first->place.source->is_built_in);
}

/* No command of the file can install what is missing: then it will fail. */
static bool preflight_is_bare(const struct config *config, size_t at)
{
    const struct config_node_type *type = &config->node_types[at];
    const struct value *types = value_get_c(config->tree, "available_node_types");
    const struct value *places[] = {config->tree, value_get(types, type->name)};
    const char *const keys[] = {"initialization_commands", "setup_commands",
                                type->is_head ? "head_setup_commands" : "worker_setup_commands"};
    bool is_bare = true;
    for (size_t i = 0; i < ARRAY_LEN(places) * ARRAY_LEN(keys); i++) {
        is_bare = is_bare && !preflight_has_own(value_get_c(places[i / ARRAY_LEN(keys)],
                                                            keys[i % ARRAY_LEN(keys)]));
    }
    return is_bare;
}

static void preflight_doubt_image(const struct config *config, size_t at, bool is_certain,
                                  struct str text, struct str remedy, struct arena *arena,
                                  struct preflight_findings *all)
{
    struct finding *finding = preflight_add(all, "image", text, remedy);
    finding->level = is_certain ? FINDING_ERROR : FINDING_WARNING;
    finding->path = arena_printf(arena, "available_node_types.%.*s.node_config.%s",
                                 STR_ARG(config->node_types[at].name), key_of_image(config));
}

static bool preflight_image_has(struct str name, const char *const *words, size_t count)
{
    bool has = false;
    for (size_t i = 0; i < count; i++) {
        has = has || str_find(name, words[i]) != SIZE_MAX;
    }
    return has;
}

/* Plain images of AWS and Google; those with a driver have other words in their names. */
static void find_drivers(const struct config *config, const struct provider_type_facts *types,
                         struct arena *arena, struct preflight_findings *all)
{
    static const char *const plain[] = {"ubuntu/images/", "ubuntu-22", "ubuntu-24",
                                        "al2023-ami",     "amzn2-ami", "debian-1"};
    static const char *const others[] = {"gpu", "nvidia"};
    static const char *const makers[] = {"UserData", "LaunchTemplate", "metadata"};
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct str name = types[i].image_name;
        if (resource_amount(type->resources, STR("GPU")) <= 0 ||
            !preflight_image_has(name, plain, ARRAY_LEN(plain)) ||
            preflight_image_has(name, others, ARRAY_LEN(others))) {
            continue;
        }
        bool is_certain = preflight_is_bare(config, i);
        for (size_t j = 0; j < ARRAY_LEN(makers); j++) {
            is_certain = is_certain && !value_get_c(type->node_config, makers[j]);
        }
        preflight_doubt_image(
            config, i, is_certain,
            arena_printf(arena, "image %.*s has no NVIDIA driver, and node type %.*s has GPUs",
                         STR_ARG(name), STR_ARG(type->name)),
            str_is(config->provider_type, "aws")
                ? STR("remove ImageId: then an image with the driver is used")
                : STR("use an image with the driver, such as projects/ubuntu-os-accelerator-images/"
                      "global/images/family/ubuntu-accelerator-2204-amd64-with-nvidia-580"),
            arena, all);
    }
}

/* ---- Python ---- */

/* The Python version in well-known images, by the publishers' image names. */
static const struct {
    const char *name, *os, *python;
} pythons[] = {
    {"Ubuntu 18.04", "Ubuntu 18.04", "3.6"},       {"ubuntu-bionic-18.04", "Ubuntu 18.04", "3.6"},
    {"Ubuntu 20.04", "Ubuntu 20.04", "3.8"},       {"ubuntu-focal-20.04", "Ubuntu 20.04", "3.8"},
    {"amzn2-ami", "Amazon Linux 2", "3.7"},        {"(Amazon Linux 2)", "Amazon Linux 2", "3.7"},
    {"al2023-ami", "Amazon Linux 2023", "3.9"},    {"debian-11-", "Debian 11", "3.9"},
    {"ubuntu-1804-bionic", "Ubuntu 18.04", "3.6"}, {"ubuntu-2004-focal", "Ubuntu 20.04", "3.8"},
};

/* Other Ray releases may support an older Python; this is not known here. */
static bool installs_tested_ray(const struct config *config)
{
    struct str version = value_text(value_get_c(config->shoal, "ray_version"));
    return version.len == 0 || str_is(version, RAY_VERSION_TESTED);
}

static void warn_of_python(const struct config *config, const struct provider_type_facts *types,
                           size_t at, struct arena *arena, struct preflight_findings *all)
{
    static const char *const conda[] = {"PyTorch", "TensorFlow"}; /* with a Python of their own */
    for (size_t i = 0; i < ARRAY_LEN(pythons); i++) {
        if (str_find(types[at].image_name, pythons[i].name) == SIZE_MAX ||
            str_find(types[at].image_name, "-py3") != SIZE_MAX) { /* Google's with a newer one */
            continue;
        }
        preflight_doubt_image(
            config, at,
            preflight_is_bare(config, at) &&
                !preflight_image_has(types[at].image_name, conda, ARRAY_LEN(conda)),
            arena_printf(arena,
                         "image %.*s is %s, which comes with Python %s; Ray " RAY_VERSION_TESTED
                         " needs " RAY_PYTHON_LEAST " or newer",
                         STR_ARG(types[at].image), pythons[i].os, pythons[i].python),
            arena_printf(arena,
                         "use a newer image (%s), or install a newer Python in setup_commands",
                         key_of_image(config)),
            arena, all);
        return;
    }
}

static void find_pythons(const struct config *config, const struct provider_type_facts *types,
                         struct arena *arena, struct preflight_findings *all)
{
    for (size_t i = 0; i < config->node_type_count && installs_tested_ray(config); i++) {
        bool is_known = false;
        for (size_t k = 0; k < i; k++) {
            is_known = is_known || str_eq(types[k].image, types[i].image);
        }
        if (!is_known && config->node_types[i].docker.image.len == 0) {
            warn_of_python(config, types, i, arena, all);
        }
    }
}

/* ---- user data ---- */

static void find_user_data(const struct config *config, const struct provider_type_facts *types,
                           struct arena *arena, struct preflight_findings *all)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        struct err err;
        if (!user_data_check(config, i, types[i].user_data, arena, &err)) {
            struct str text = arena_str(arena, str_from(err.text));
            struct str path = str_cut(&text, ':');
            preflight_add(all, "user data", str_trim(text), STR(""))->path = path;
        }
    }
}

/* ---- Session Manager ---- */

static void find_session_programs(const struct config *config, struct arena *arena,
                                  struct preflight_findings *all)
{
    const char *missing[SESSION_MANAGER_PROGRAMS + 1];
    if (!config->uses_sessions || config->ssh_proxy_command.len > 0) {
        return;
    }
    session_manager_missing(getenv("PATH"), missing);
    for (size_t i = 0; missing[i]; i++) {
        struct str text = arena_printf(
            arena, "access: ssm needs the program %s, which is not in PATH on this machine",
            missing[i]);
        struct finding *finding = preflight_add(
            all, "program", text,
            STR("install the AWS CLI and its Session Manager plugin, or remove access: ssm"));
        finding->path = STR("metadata.shoal.access");
    }
    if (getenv("AWS_ACCESS_KEY_ID")) {
        struct finding *finding = preflight_add(
            all, "credentials",
            STR("ssh does not get credentials from environment variables, and access: ssm runs the "
                "AWS CLI below ssh"),
            STR("put the credentials into a profile and set AWS_PROFILE or provider.aws_profile"));
        finding->level = FINDING_WARNING;
        finding->path = STR("metadata.shoal.access");
    }
}

/* ---- entry points ---- */

struct preflight_findings preflight_local(const struct config *config,
                                          const struct provider_type_facts *types,
                                          const struct payload_places *places, struct arena *arena)
{
    enum { OTHERS = 2 + SESSION_MANAGER_PROGRAMS + 1 };
    struct preflight_findings all = {
        .items = ARENA_ARRAY(arena, 3 * config->node_type_count + OTHERS, struct finding)};
    find_payloads(config, types, places, arena, &all);
    find_mixture(config, types, arena, &all);
    find_drivers(config, types, arena, &all);
    find_pythons(config, types, arena, &all);
    find_user_data(config, types, arena, &all);
    find_session_programs(config, arena, &all);
    return all;
}

static void preflight_on_preflight(void *context, const struct provider_answer *answer,
                                   const struct finding *findings, size_t count)
{
    struct preflight_state *run = context;
    struct arena *arena = run->arena;
    struct payload_places places;
    struct provider_answer failed = {.outcome = OUTCOME_INVALID};
    size_t type_count = run->config->node_type_count;
    if (answer->outcome != OUTCOME_DONE) {
        run->done(run->context, answer, findings, count);
        return;
    }
    if (!payload_places_find(arena, &places, &failed.err)) {
        run->done(run->context, &failed, NULL, 0);
        return;
    }
    struct provider_type_facts *types = ARENA_ARRAY(arena, type_count, struct provider_type_facts);
    for (size_t i = 0; i < type_count; i++) {
        types[i] = run->provider->ops->type_facts(run->provider, i);
    }
    struct preflight_findings more = preflight_local(run->config, types, &places, arena);
    struct finding *all = ARENA_ARRAY(arena, count + more.count, struct finding);
    for (size_t i = 0; i < count; i++) {
        all[i] = findings[i];
    }
    for (size_t i = 0; i < more.count; i++) {
        all[count + i] = more.items[i];
    }
    run->done(run->context, answer, all, count + more.count);
}

void preflight_run(struct provider *provider, const struct config *config,
                   enum preflight_scope scope, struct arena *arena, provider_preflight_fn *done,
                   void *context)
{
    struct preflight_state *run = ARENA_NEW(arena, struct preflight_state);
    *run = (struct preflight_state){provider, config, arena, done, context};
    provider->ops->preflight(provider, scope, preflight_on_preflight, run);
}
