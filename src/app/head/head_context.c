/* head_context.c: loads the handover and the configuration. */
#include "app/head/head_context.h"

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
        ok = handover_missing(path, err);
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
static bool put_in_force(struct head_context *head, const struct handover *handover,
                         struct str text, struct arena *arena, struct err *err)
{
    const char *copy = handover_copy_path(head->folder, handover->serial, arena);
    if (!type_config(arena, handover->config, err) || !file_write(copy, text, 0600, err)) {
        return false;
    }
    if (!head_ray_note_before(head, handover->serial, err) ||
        !handover_take(head->journal, handover, err)) {
        return false;
    }
    handover_remove_copies(head->folder, handover->serial);
    return true;
}

/* The handover is already in force. Writes its copy if an older version made none. */
static bool keep_copy(struct head_context *head, const struct handover *handover, struct str text,
                      struct arena *arena, struct err *err)
{
    const char *copy = handover_copy_path(head->folder, handover->serial, arena);
    return file_stat(copy).kind != FILE_MISSING || file_write(copy, text, 0600, err);
}

bool head_context_take_handover(struct head_context *head, bool *ret_is_new, struct err *err)
{
    struct handover sent;
    struct str text;
    enum handover_order order = HANDOVER_OLDER;
    struct arena arena;
    arena_init_secret(&arena);
    const char *path = arena_printf(&arena, "%s/" HANDOVER_NAME, head->folder).ptr;
    bool ok = read_at(path, &arena, &text, &sent, err) &&
              handover_compare(head->journal, &sent, &order, err);
    if (ok) {
        ok = order == HANDOVER_NEWER  ? put_in_force(head, &sent, text, &arena, err)
             : order == HANDOVER_SAME ? keep_copy(head, &sent, text, &arena, err)
                                      : handover_refuse(head->journal, &sent, err);
    }
    *ret_is_new = ok && order == HANDOVER_NEWER;
    arena_clear(&arena);
    return ok;
}

/* Loads the handover in force, whatever handover.json contains. */
static bool load_handover(struct head_context *head, struct err *err)
{
    struct arena *arena = &head->arena;
    struct str text;
    uint64_t serial;
    bool is_new;
    struct err sent = {0};
    if (handover_known(head->folder) == 0) { /* do not create a journal without a cluster */
        const char *path = arena_printf(arena, "%s/" HANDOVER_NAME, head->folder).ptr;
        return read_at(path, arena, &text, &head->handover, err);
    }
    struct str holder = arena_printf(arena, "shoal autoscaler, pid %ld", (long)getpid());
    if (!journal_open(head->folder, holder.ptr, &head->journal, err)) {
        return false;
    }
    if (!head_context_take_handover(head, &is_new, &sent)) {
        fprintf(stderr, "shoal autoscaler: ignoring %s: %s\n", HANDOVER_NAME, sent.text);
    }
    if (!journal_get_number(head->journal, "handover", &serial, err)) {
        return false;
    }
    if (serial == 0) { /* there was never a valid handover */
        *err = sent;
        return false;
    }
    return read_at(handover_copy_path(head->folder, (int64_t)serial, arena), arena, &text,
                   &head->handover, err);
}

static bool keep_handover(struct head_context *head, struct err *err)
{
    const struct handover *handover = &head->handover;
    struct arena *arena = &head->arena;
    const char *secret = arena_printf(arena, "%s/secret", head->folder).ptr;
    const char *identity = arena_printf(arena, "%s/" IDENTITY_NAME, head->folder).ptr;
    if (handover->secret.len > 0 && !file_write(secret, handover->secret, 0600, err)) {
        return false;
    }
    if (handover->key.len > 0) {
        head->identity = identity;
        return file_write(identity, handover->key, 0600, err);
    }
    return true;
}

/* How the laptop reaches the cloud also applies here. */
static void set_environment(const struct head_context *head, struct arena *arena)
{
    for (size_t i = 0; i < head->handover.environment_count; i++) {
        const struct step_variable *variable = &head->handover.environment[i];
        setenv(arena_str(arena, variable->name).ptr, file_expand_home(arena, variable->value).ptr,
               1);
    }
}

bool head_context_has_monitor_option(const struct head_context *head)
{
    const struct config *config = head->config;
    const struct config_texts *starts = &config->node_types[config->head_type].start_commands;
    struct str value;
    for (size_t i = 0; i < starts->count; i++) {
        if (start_command_option(starts->items[i], "--autoscaling-config", &value)) {
            return true;
        }
    }
    return false;
}

size_t head_context_min_workers(const struct head_context *head)
{
    const struct config *config = head->config;
    int64_t wanted = 0;
    for (size_t i = 0; i < config->node_type_count; i++) {
        bool counts = !config->node_types[i].is_head || config_is_local(config);
        wanted += counts ? config->node_types[i].min_workers : 0;
    }
    wanted = wanted < config->max_workers ? wanted : config->max_workers;
    return wanted > 0 ? (size_t)wanted : 0;
}

static bool find_ray(struct head_context *head, struct err *err)
{
    const struct config *config = head->config;
    const struct config_texts *starts = &config->node_types[config->head_type].start_commands;
    uint32_t port = start_command_port(starts->items, starts->count);
    struct str ip = head->handover.head_private_ip;
    bool is_v6 = str_find_char(ip, ':') != SIZE_MAX;
    head->ray_address = arena_printf(&head->arena, "%s%.*s%s:%u", is_v6 ? "[" : "", STR_ARG(ip),
                                     is_v6 ? "]" : "", port > 0 ? port : (uint32_t)RAY_GCS_PORT);
    if (setup_has_own_auth(config)) {
        return true;
    }
    head->token_path =
        arena_str(&head->arena, file_expand_home(&head->arena, STR(SETUP_TOKEN_FILE))).ptr;
    return ray_token_make(head->token_path, err);
}

bool head_context_load(struct head_context *head, struct err *err)
{
    struct diag_list diags;
    diag_list_init(&diags, &head->arena);
    if (!program_path(&head->arena, &head->program, err) || !load_handover(head, err)) {
        return false;
    }
    head->config = type_config(&head->arena, head->handover.config, err);
    if (!head->config) {
        return false;
    }
    set_environment(head, &head->arena);
    if (!keep_handover(head, err) ||
        !cluster_state_open_at(head->folder, head->config, true, &head->arena, &head->state, err) ||
        !core_setup_make(&head->arena, head->config, NULL, &diags, &head->core, err)) {
        return false;
    }
    head->core.book.disks = head->handover.type_disks;
    price_table_read(head->handover.prices, head->core.region, &head->arena,
                     &head->core.book.table);
    core_setup_place(&head->arena, head->config, head->handover.type_zones, &head->core);
    if (!head->identity) {
        head->identity = head->state.key;
    }
    struct str planner = value_text(value_get_c(head->config->shoal, "planner"));
    head->core.settings.strategy = str_is(planner, "price") ? PLAN_PRICE : PLAN_RAY;
    head->core.settings.head_instance = HEAD_INSTANCE;
    head->core.settings.head_type = (uint32_t)head->config->head_type;
    return find_ray(head, err);
}

/* ---- the journal ---- */

struct str head_context_journal_text(const struct head_context *head, struct arena *arena)
{
    struct str trouble = journal_trouble(head->journal);
    return trouble.len == 0
               ? STR("")
               : arena_printf(arena, "the journal cannot be written (%.*s): no launches until %s",
                              STR_ARG(trouble),
                              str_is(trouble, "disk full") ? "space is free" : "it can be written");
}
