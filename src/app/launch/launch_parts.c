/* launch_parts.c: opening and closing, and how machines are seen and reached from a laptop. */
#include "app/launch/launch_parts.h"

#include "app/cloud_provider.h"
#include "app/launch/take_over.h"
#include "app/type_zones.h"
#include "io/file.h"

#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZONES_FACT "type-zones" /* in the journal */
enum { NOTE_BYTES_MAX = 8192, WORKER_NAMES_FROM = HEAD_INSTANCE };

/* ---- opening and closing ---- */

struct str launch_holder(const char *verb, struct arena *arena)
{
    char host[256] = "";
    const struct passwd *user = getpwuid(getuid());
    gethostname(host, sizeof(host) - 1);
    return arena_printf(arena, "shoal %s, pid %d of %s@%s", verb, (int)getpid(),
                        user ? user->pw_name : "somebody", host);
}

/* The head is number one, whatever is answered first. */
static bool number_head(struct journal *journal, struct err *err)
{
    uint64_t number;
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = journal_number(journal, STR("head"), &number, err) &&
              (number == HEAD_INSTANCE ||
               err_set(err, ERR_INTERNAL, "the head has number %u", (unsigned)number));
    return journal_end(journal, ok, err);
}

static bool open_journal(struct launch *launch, const char *verb, struct err *err)
{
    struct str holder = launch_holder(verb, launch->arena);
    return strcmp(verb, "down") == 0
               ? take_over_journal(launch, holder.ptr, err)
               : journal_open(launch->state.folder, holder.ptr, &launch->journal, err);
}

/* Who makes no survey counts the places of the last one. */
static bool place_as_before(struct launch *launch, struct err *err)
{
    if (!journal_get(launch->journal, ZONES_FACT, launch->arena, &launch->type_zones, err)) {
        return false;
    }
    if (launch->type_zones.len > 0) {
        core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    }
    return true;
}

bool launch_open(struct launch *launch, const char *verb, bool makes_state, struct err *err)
{
    const struct launcher_setup *setup = launch->setup;
    launch->session = setup->session;
    launch->config = setup->config;
    launch->began_ms = loop_now_ms(launch->session->loop);
    diag_list_init(&launch->diags, launch->arena);
    if (!cloud_provider_open(launch->session, launch->config, setup->profile, launch->arena,
                             &launch->provider, err) ||
        !cluster_state_open(launch->config, makes_state, launch->arena, &launch->state, err) ||
        !core_setup_make(launch->arena, launch->config, NULL, &launch->diags, &launch->core, err)) {
        return false;
    }
    launch->core.settings.head_instance = HEAD_INSTANCE;
    launch->core.settings.head_type = (uint32_t)launch->config->head_type;
    return !makes_state || (open_journal(launch, verb, err) && number_head(launch->journal, err) &&
                            place_as_before(launch, err));
}

bool launch_place(struct launch *launch, struct err *err)
{
    launch->type_zones = type_zones_ask(launch->provider, launch->config, launch->arena);
    core_setup_place(launch->arena, launch->config, launch->type_zones, &launch->core);
    return journal_note(launch->journal, ZONES_FACT, launch->type_zones, err);
}

void launch_close(struct launch *launch)
{
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

void launch_end(struct launch *launch, const struct err *err)
{
    if (!launch->is_ok && launch->err.kind == ERR_NONE) {
        launch->is_ok = err == NULL;
        if (err) {
            launch->err = *err;
        }
    }
    cloud_session_stop(launch->session);
}

void launch_note(const struct launch *launch, const char *fmt, ...)
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

/* As Ray: inside when the file says so, but a head may be reached from outside all the same. */
struct str launch_address(const struct config *config, const struct machine *machine, bool is_head)
{
    bool is_inside = value_is_true(value_get_c(config->provider, "use_internal_ips")) &&
                     !(is_head &&
                       value_is_true(value_get_c(config->provider, "use_external_head_ip")));
    return is_inside ? machine->private_ip : machine->public_ip;
}

static enum node_phase phase_of(const struct machine *machine)
{
    static const enum node_phase phases[MACHINE_STATE_COUNT] = {
        [MACHINE_PENDING] = PHASE_BOOTING, [MACHINE_RUNNING] = PHASE_CONNECTING,
        [MACHINE_STOPPING] = PHASE_ENDING, [MACHINE_STOPPED] = PHASE_GONE,
        [MACHINE_ENDING] = PHASE_ENDING,   [MACHINE_GONE] = PHASE_GONE,
    };
    return machine ? phases[machine->state] : PHASE_ASKED;
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

void launch_view(const struct launch *launch, const struct controlled *controlled,
                 struct arena *arena, struct node_view *ret_view)
{
    const struct machine *machine = controlled->machine;
    const struct config *config = launch->config;
    struct str type = arena_str(arena, machine_tag_value(machine, "ray-user-node-type"));
    const struct config_node_type *known = type_named(config, type);
    *ret_view = (struct node_view){
        .name = controlled->is_head
                    ? STR("head")
                    : arena_printf(arena, "worker-%u",
                                   (unsigned)(controlled->instance - WORKER_NAMES_FROM)),
        .type = type,
        .is_head = controlled->is_head,
        .phase = phase_of(machine),
        .since_ms = clock_wall_ms(loop_clock(launch->session->loop)),
        .price = known ? launch->core.facts[known - config->node_types].price : -1,
    };
    if (machine) {
        ret_view->id = arena_str(arena, machine->id);
        ret_view->machine = arena_str(arena, machine->type);
        ret_view->zone = arena_str(arena, machine->zone);
        ret_view->public_ip = arena_str(arena, machine->public_ip);
        ret_view->private_ip = arena_str(arena, machine->private_ip);
        ret_view->is_spot = machine->market == MARKET_SPOT;
        ret_view->born_ms = machine->launched_at * 1000;
    }
}

bool launch_head_place(const struct launch *launch, struct str id, struct str address,
                       struct ssh_place *ret_place)
{
    const struct config *config = launch->config;
    *ret_place = (struct ssh_place){
        .user = config->ssh_user,
        .address = arena_str(launch->arena, address),
        .machine = arena_str(launch->arena, id),
        .known_hosts = cluster_state_known_hosts(&launch->state, id, launch->arena),
        .identity = launch->state.key,
        .control = cluster_state_control(&launch->state, id, launch->arena),
        .proxy_command = config->ssh_proxy_command,
    };
    return cluster_state_is_pinned(&launch->state, id);
}

/* ---- tests ---- */

void failpoint(const char *name)
{
    const char *wanted = getenv("SHOAL_FAILPOINT");
    if (wanted && strcmp(wanted, name) == 0) {
        raise(SIGKILL);
    }
}
