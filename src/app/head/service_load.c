/* service_load.c: from what the laptop has put here to what the service works with. */
#include "app/head/service_parts.h"
#include "app/program.h"
#include "app/setup/setup_plan.h"
#include "app/setup/start_command.h"
#include "config/document/yaml_read.h"
#include "io/file.h"
#include "ray/token.h"

#include <stdlib.h>
#include <string.h>

#define HANDOVER_NAME "handover.json"
#define IDENTITY_NAME "workers.key"

bool service_read_handover(struct service *service, struct arena *arena,
                           struct handover *ret_handover, struct err *err)
{
    const char *path = arena_printf(arena, "%s/" HANDOVER_NAME, service->folder).ptr;
    struct buf text;
    buf_init(&text, HANDOVER_BYTES_MAX);
    bool ok = file_read_secret(path, &text, err);
    if (!ok && err->kind == ERR_NOT_FOUND) {
        err_set(err, ERR_NOT_FOUND,
                "%s is not there: no cluster was handed over to this machine; `shoal up` does that",
                path);
    }
    ok = ok &&
         (handover_read(buf_str(&text), arena, ret_handover, err) || err_wrap(err, "%s", path));
    buf_wipe(&text);
    return ok;
}

/* The configuration was filled out before it was sent: doing that again would add to it. */
static bool load_config(struct service *service, struct err *err)
{
    struct source *source = ARENA_NEW(&service->arena, struct source);
    struct diag_list diags;
    *source = (struct source){.name = STR(HANDOVER_NAME), .text = service->handover.config};
    diag_list_init(&diags, &service->arena);
    const struct value *tree = yaml_read(&service->arena, source, &diags);
    service->config = tree ? config_type(&service->arena, tree) : NULL;
    if (!service->config) {
        return err_set(err, ERR_CONFIG, "the configuration that was handed over is not understood");
    }
    return true;
}

bool service_keep_handover(struct service *service, struct err *err)
{
    const struct handover *handover = &service->handover;
    struct arena *arena = &service->arena;
    const char *secret = arena_printf(arena, "%s/secret", service->folder).ptr;
    const char *identity = arena_printf(arena, "%s/" IDENTITY_NAME, service->folder).ptr;
    if (handover->secret.len > 0 && !file_write(secret, handover->secret, 0600, err)) {
        return false;
    }
    if (handover->key.len > 0) {
        service->identity = identity;
        return file_write(identity, handover->key, 0600, err);
    }
    return true;
}

/* What sent the laptop's calls somewhere else than to the cloud sends ours there too. */
static void set_environment(const struct service *service, struct arena *arena)
{
    for (size_t i = 0; i < service->handover.environment_count; i++) {
        const struct step_variable *variable = &service->handover.environment[i];
        setenv(arena_str(arena, variable->name).ptr, arena_str(arena, variable->value).ptr, 1);
    }
}

bool service_has_monitor_option(const struct service *service)
{
    const struct config *config = service->config;
    const struct config_texts *starts = &config->node_types[config->head_type].start_commands;
    struct str value;
    for (size_t i = 0; i < starts->count; i++) {
        if (start_command_option(starts->items[i], "--autoscaling-config", &value)) {
            return true;
        }
    }
    return false;
}

static bool find_ray(struct service *service, struct err *err)
{
    const struct config *config = service->config;
    const struct config_texts *starts = &config->node_types[config->head_type].start_commands;
    uint32_t port = start_command_port(starts->items, starts->count);
    struct str ip = service->handover.head_private_ip;
    bool is_v6 = str_find_char(ip, ':') != SIZE_MAX;
    service->ray_address = arena_printf(&service->arena, "%s%.*s%s:%u", is_v6 ? "[" : "",
                                        STR_ARG(ip), is_v6 ? "]" : "",
                                        port > 0 ? port : (uint32_t)RAY_GCS_PORT);
    if (setup_has_own_auth(config)) {
        return true;
    }
    service->token_path =
        arena_str(&service->arena, file_expand_home(&service->arena, STR(SETUP_TOKEN_FILE))).ptr;
    return ray_token_make(service->token_path, err);
}

bool service_load(struct service *service, struct err *err)
{
    struct diag_list diags;
    diag_list_init(&diags, &service->arena);
    if (!program_path(&service->arena, &service->program, err) ||
        !service_read_handover(service, &service->arena, &service->handover, err) ||
        !load_config(service, err)) {
        return false;
    }
    set_environment(service, &service->arena);
    if (!service_keep_handover(service, err) ||
        !cluster_state_open_at(service->folder, service->config, true, &service->arena,
                               &service->state, err) ||
        !core_setup_make(&service->arena, service->config, NULL, &diags, &service->core, err)) {
        return false;
    }
    core_setup_place(&service->arena, service->config, service->handover.type_zones,
                     &service->core);
    if (!service->identity) {
        service->identity = service->state.key;
    }
    struct str planner = value_text(value_get_c(service->config->shoal, "planner"));
    service->core.settings.strategy = str_is(planner, "price") ? PLAN_PRICE : PLAN_RAY;
    service->core.settings.head_instance = HEAD_INSTANCE;
    service->core.settings.head_type = (uint32_t)service->config->head_type;
    return find_ray(service, err);
}
