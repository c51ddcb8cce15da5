/* service_config.c: loads the handover and the configuration. */
#include "app/head/service_internal.h"
#include "app/program.h"
#include "app/setup/setup_plan.h"
#include "app/setup/start_command.h"
#include "config/document/yaml_read.h"
#include "io/file.h"
#include "ray/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDENTITY_NAME "workers.key"

/* ---- the handover ---- */

static bool read_at(const char *path, struct arena *arena, struct str *ret_text,
                    struct handover *ret_handover, struct err *err)
{
    struct buf text;
    buf_init(&text, HANDOVER_BYTES_MAX);
    bool ok = file_read_secret(path, &text, err);
    if (ok) {
        *ret_text = arena_str(arena, buf_str(&text));
        ok = handover_read(*ret_text, arena, ret_handover, err) || err_wrap(err, "%s", path);
    } else if (err->kind == ERR_NOT_FOUND) {
        err_set(err, ERR_NOT_FOUND,
                "%s not found: this machine is not the head of a cluster. Run `shoal up` to "
                "create one",
                path);
    }
    buf_wipe(&text);
    return ok;
}

/* The configuration was prepared before it was sent; preparing it twice would change it. */
static struct config *type_config(struct arena *arena, struct str text, struct err *err)
{
    struct source *source = ARENA_NEW(arena, struct source);
    struct diag_list diags;
    *source = (struct source){.name = STR(HANDOVER_NAME), .text = text};
    diag_list_init(&diags, arena);
    const struct value *tree = yaml_read(arena, source, &diags);
    struct config *config = tree ? config_type(arena, tree) : NULL;
    if (!config) {
        err_set(err, ERR_CONFIG, "cannot parse the configuration in the handover");
    }
    return config;
}

/* The copy is written before the journal refers to it, so it can always be read. */
static bool put_in_force(struct service *service, const struct handover *handover, struct str text,
                         struct arena *arena, struct err *err)
{
    const char *copy = handover_copy_path(service->folder, handover->serial, arena);
    if (!type_config(arena, handover->config, err) || !file_write(copy, text, 0600, err)) {
        return false;
    }
    if (!service_note_before(service, handover->serial, err) ||
        !handover_take(service->journal, handover, err)) {
        return false;
    }
    handover_remove_copies(service->folder, handover->serial);
    return true;
}

/* Already in force, from a version that made no copies. */
static bool keep_copy(struct service *service, const struct handover *handover, struct str text,
                      struct arena *arena, struct err *err)
{
    const char *copy = handover_copy_path(service->folder, handover->serial, arena);
    return file_stat(copy).kind != FILE_MISSING || file_write(copy, text, 0600, err);
}

bool service_take_handover(struct service *service, bool *ret_is_new, struct err *err)
{
    struct handover sent;
    struct str text;
    enum handover_order order = HANDOVER_OLDER;
    struct arena arena;
    arena_init_secret(&arena);
    const char *path = arena_printf(&arena, "%s/" HANDOVER_NAME, service->folder).ptr;
    bool ok = read_at(path, &arena, &text, &sent, err) &&
              handover_compare(service->journal, &sent, &order, err);
    if (ok) {
        ok = order == HANDOVER_NEWER  ? put_in_force(service, &sent, text, &arena, err)
             : order == HANDOVER_SAME ? keep_copy(service, &sent, text, &arena, err)
                                      : handover_refuse(service->journal, &sent, err);
    }
    *ret_is_new = ok && order == HANDOVER_NEWER;
    arena_clear(&arena);
    return ok;
}

/* Loads the handover in force, whatever handover.json contains. */
static bool load_handover(struct service *service, struct err *err)
{
    struct arena *arena = &service->arena;
    struct str text;
    uint64_t serial;
    bool is_new;
    struct err sent = {0};
    if (handover_known(service->folder) == 0) { /* do not create a journal without a cluster */
        const char *path = arena_printf(arena, "%s/" HANDOVER_NAME, service->folder).ptr;
        return read_at(path, arena, &text, &service->handover, err);
    }
    struct str holder = arena_printf(arena, "shoal autoscaler, pid %ld", (long)getpid());
    if (!journal_open(service->folder, holder.ptr, &service->journal, err)) {
        return false;
    }
    if (!service_take_handover(service, &is_new, &sent)) {
        fprintf(stderr, "shoal autoscaler: ignoring %s: %s\n", HANDOVER_NAME, sent.text);
    }
    if (!journal_get_number(service->journal, "handover", &serial, err)) {
        return false;
    }
    if (serial == 0) { /* there was never a valid one */
        *err = sent;
        return false;
    }
    return read_at(handover_copy_path(service->folder, (int64_t)serial, arena), arena, &text,
                   &service->handover, err);
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

/* Endpoint overrides of the laptop also apply here. */
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
    if (!program_path(&service->arena, &service->program, err) || !load_handover(service, err)) {
        return false;
    }
    service->config = type_config(&service->arena, service->handover.config, err);
    if (!service->config) {
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
