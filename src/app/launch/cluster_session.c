/* cluster_session.c: opens and closes a session, describes machines and finds their addresses. */
#include "app/launch/cluster_session.h"

#include "app/cloud_provider.h"
#include "app/launch/launch_prices.h"
#include "app/session_manager.h"
#include "app/type_zones.h"
#include "io/file.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys in the journal. */
#define ZONES_FACT "type-zones"
#define DISKS_FACT "type-disks"
#define PRICES_FACT "prices"
enum { NOTE_BYTES_MAX = 8192, WORKER_NAMES_FROM = HEAD_INSTANCE };

/* ---- opening and closing ---- */

struct str launch_here(struct arena *arena)
{
    char host[256] = "";
    const struct passwd *user = getpwuid(getuid());
    gethostname(host, sizeof(host) - 1);
    return arena_printf(arena, "%s@%s", user ? user->pw_name : "another controller", host);
}

struct str launch_holder(const char *verb, struct arena *arena)
{
    return arena_printf(arena, "shoal %s, pid %d of %.*s", verb, (int)getpid(),
                        STR_ARG(launch_here(arena)));
}

/* Assigns instance number 1 to the head before any reply can assign it to another machine. */
static bool number_head(struct journal *journal, struct err *err)
{
    uint64_t number;
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = journal_number(journal, STR("head"), &number, err) &&
              (number == HEAD_INSTANCE ||
               err_set(err, ERR_INTERNAL, "internal error: the journal numbers the head %u",
                       (unsigned)number));
    return journal_end(journal, ok, err);
}

bool launch_place_as_before(struct cluster_session *launch, struct err *err)
{
    struct price_book *book = &launch->core.book;
    struct str prices;
    if (!journal_get(launch->journal, ZONES_FACT, launch->arena, &launch->type_zones, err) ||
        !journal_get(launch->journal, DISKS_FACT, launch->arena, &book->disks, err) ||
        !journal_get(launch->journal, PRICES_FACT, launch->arena, &prices, err)) {
        return false;
    }
    price_table_read(prices, book->region, launch->arena, &book->table);
    if (launch->type_zones.len > 0) {
        core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    }
    return true;
}

bool launch_open(struct cluster_session *launch, struct err *err)
{
    const struct launcher_setup *setup = launch->setup;
    launch->session = setup->session;
    launch->config = setup->config;
    launch->began_ms = loop_now_ms(launch->session->loop);
    diag_list_init(&launch->diags, launch->arena);
    if (!cloud_provider_open(launch->session, launch->config, setup->profile, launch->arena,
                             &launch->provider, err) ||
        !cluster_state_open(launch->config, false, launch->arena, &launch->state, err) ||
        !core_setup_make(launch->arena, launch->config, NULL, &launch->diags, &launch->core, err)) {
        return false;
    }
    launch->core.settings.head_instance = HEAD_INSTANCE;
    launch->core.settings.head_type = (uint32_t)launch->config->head_type;
    return true;
}

bool launch_open_records(struct cluster_session *launch, struct err *err)
{
    const struct launcher_setup *setup = launch->setup;
    struct str holder = launch_holder("up", launch->arena);
    return cluster_state_open(launch->config, true, launch->arena, &launch->state, err) &&
           (!setup->config_path ||
            cluster_state_note_file(&launch->state, setup->config_path, err)) &&
           journal_open(launch->state.folder, holder.ptr, &launch->journal, err) &&
           number_head(launch->journal, err);
}

bool launch_place(struct cluster_session *launch, struct err *err)
{
    launch->type_zones = type_zones_ask(launch->provider, launch->config, launch->arena);
    launch->type_images = type_images_ask(launch->provider, launch->config, launch->arena);
    launch->core.book.disks = type_disks_ask(launch->provider, launch->config, launch->arena);
    core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    return journal_note(launch->journal, ZONES_FACT, launch->type_zones, err) &&
           journal_note(launch->journal, DISKS_FACT, launch->core.book.disks, err);
}

/* Prices that were not found now are those of the last `up`. */
bool launch_note_prices(struct cluster_session *launch, struct err *err)
{
    struct price_book *book = &launch->core.book;
    struct price_table before = {0};
    struct str text;
    if (!journal_get(launch->journal, PRICES_FACT, launch->arena, &text, err)) {
        return false;
    }
    price_table_read(text, book->region, launch->arena, &before);
    for (size_t i = 0; i < before.count; i++) {
        struct price_known now = price_table_find(&book->table, &before.queries[i]);
        if (now.price == PRICE_UNKNOWN || now.source == PRICE_FROM_CATALOG) {
            price_table_put(&book->table, &before.queries[i], before.prices[i], launch->arena);
        }
    }
    core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    return journal_note(launch->journal, PRICES_FACT, launch_prices_text(launch), err);
}

void launch_close(struct cluster_session *launch)
{
    launch_prices_end(launch);
    if (launch->controller) {
        controller_close(launch->controller);
    }
    if (launch->provider) {
        launch->provider->ops->close(launch->provider);
    }
    journal_close(launch->journal);
    launch->controller = NULL;
    launch->provider = NULL;
    launch->journal = NULL;
}

bool launch_is_fit(struct cluster_session *launch, const struct finding *findings, size_t count,
                   struct err *err)
{
    const struct launcher_hooks *hooks = &launch->setup->hooks;
    size_t errors = 0;
    hooks->findings(hooks->context, findings, count);
    for (size_t i = 0; i < count; i++) {
        errors += findings[i].level == FINDING_ERROR;
    }
    return errors == 0 || err_set(err, ERR_CONFIG, "fix the error%s above; nothing was created",
                                  errors == 1 ? "" : "s");
}

enum preflight_scope launch_scope(const struct cluster_session *launch)
{
    const char *folder = cluster_folder_find(launch->config, launch->arena).path;
    return file_stat(folder).kind == FILE_MISSING ? PREFLIGHT_FOR_UP : PREFLIGHT_FOR_CHANGE;
}

void launch_end(struct cluster_session *launch, const struct err *err)
{
    if (!launch->is_ok && launch->err.kind == ERR_NONE) {
        launch->is_ok = err == NULL;
        if (err) {
            launch->err = *err;
        }
    }
    cloud_session_stop(launch->session);
}

void launch_note(const struct cluster_session *launch, const char *fmt, ...)
{
    va_list args;
    AUTO_BUF struct buf text;
    buf_init(&text, NOTE_BYTES_MAX);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    launch->setup->hooks.note(launch->setup->hooks.context, buf_str(&text));
}

/* ---- machines ---- */

/* As Ray: the internal address if use_internal_ips is set, unless the head alone uses its external
 * one. */
struct str launch_address(const struct config *config, const struct machine *machine, bool is_head)
{
    bool is_inside = value_is_true(value_get_c(config->provider, "use_internal_ips")) &&
                     !(is_head &&
                       value_is_true(value_get_c(config->provider, "use_external_head_ip")));
    return is_inside ? machine->private_ip : machine->public_ip;
}

static enum node_phase cluster_session_phase_of(const struct machine *machine)
{
    static const enum node_phase phases[MACHINE_STATE_COUNT] = {
        [MACHINE_PENDING] = PHASE_BOOTING,      [MACHINE_RUNNING] = PHASE_CONNECTING,
        [MACHINE_STOPPING] = PHASE_TERMINATING, [MACHINE_STOPPED] = PHASE_TERMINATED,
        [MACHINE_ENDING] = PHASE_TERMINATING,   [MACHINE_GONE] = PHASE_TERMINATED,
    };
    return machine ? phases[machine->state] : PHASE_REQUESTED;
}

static const struct config_node_type *type_named(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        if (str_eq(config->node_types[i].name, name)) {
            return &config->node_types[i];
        }
    }
    return NULL;
}

void launch_view(const struct cluster_session *launch, const struct managed_node *managed_node,
                 struct arena *arena, struct node_view *ret_view)
{
    const struct machine *machine = managed_node->machine;
    const struct config *config = launch->config;
    struct str type = arena_str(arena, machine_tag_value(machine, "ray-user-node-type"));
    const struct config_node_type *known = type_named(config, type);
    *ret_view = (struct node_view){
        .name = managed_node->is_head
                    ? STR("head")
                    : arena_printf(arena, "worker-%u",
                                   (unsigned)(managed_node->instance - WORKER_NAMES_FROM)),
        .type = type,
        .is_head = managed_node->is_head,
        .phase = cluster_session_phase_of(machine),
        .since_ms = clock_wall_ms(loop_clock(launch->session->loop)),
        .price = known && launch->core.facts ? launch->core.facts[known - config->node_types].price
                                             : PRICE_UNKNOWN,
    };
    if (machine) {
        ret_view->price = core_setup_price(&launch->core, machine);
        ret_view->id = arena_str(arena, machine->id);
        ret_view->machine = arena_str(arena, machine->type);
        ret_view->zone = arena_str(arena, machine->zone);
        ret_view->public_ip = arena_str(arena, machine->public_ip);
        ret_view->private_ip = arena_str(arena, machine->private_ip);
        ret_view->is_spot = machine->market == MARKET_SPOT;
        ret_view->requested_ms = machine->launched_at * 1000;
    }
}

bool launch_refuse_keyless(const struct cluster_session *launch, struct str from, struct err *err)
{
    struct str name = launch->config->cluster_name;
    return err_set(err, ERR_NOT_FOUND,
                   "this machine does not have the key of cluster %.*s; %.*s has it. Run there: "
                   "shoal key export %.*s -o %.*s.key\nthen copy that file to this machine and run "
                   "here: shoal key import FILE %.*s.key",
                   STR_ARG(name),
                   STR_ARG(from.len > 0 ? from : STR("the machine that started the cluster")),
                   STR_ARG(name), STR_ARG(name), STR_ARG(name));
}

bool launch_reaches_by_id(const struct config *config)
{
    return config->uses_sessions ||
           value_is_true(value_get_c(config->auth, "ssh_proxy_use_node_id"));
}

/* A command of the file is the user's choice. */
static struct str launch_proxy_command(const struct cluster_session *launch)
{
    const struct config *config = launch->config;
    if (!config->uses_sessions || config->ssh_proxy_command.len > 0) {
        return config->ssh_proxy_command;
    }
    struct str profile = cloud_provider_profile(config->provider, launch->setup->profile);
    if (profile.len == 0 && !getenv("AWS_PROFILE")) { /* the AWS CLI gets only AWS_PROFILE */
        profile = str_from(getenv("AWS_DEFAULT_PROFILE"));
    }
    return session_manager_proxy(config, profile, launch->arena);
}

bool launch_head_place(const struct cluster_session *launch, struct str id, struct str address,
                       struct ssh_target *ret_place)
{
    const struct config *config = launch->config;
    *ret_place = (struct ssh_target){
        .user = config->ssh_user,
        .address = arena_str(launch->arena, launch_reaches_by_id(config) ? id : address),
        .machine = arena_str(launch->arena, cluster_state_key_name(id)),
        .known_hosts = cluster_state_known_hosts(&launch->state, id, launch->arena),
        .user_hosts = config_trusts_first_key(config) ? "/dev/null" : NULL,
        .identity = launch->state.key,
        .control = cluster_state_control(&launch->state, id, launch->arena),
        .proxy_command = launch_proxy_command(launch),
    };
    return cluster_state_is_pinned(&launch->state, id);
}
