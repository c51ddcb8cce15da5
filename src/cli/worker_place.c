/* worker_place.c: finds the workers, their host keys and the way through the head. */
#include "cli/worker_place.h"

#include "app/cluster_state.h"
#include "app/setup/node_tools.h"
#include "base/shell_quote.h"
#include "cli/ctl_query.h"

#include <string.h>

enum { PROXY_BYTES_MAX = 64 * 1024, KEYS_BYTES_MAX = 4 << 20, KEYS_MS = 30 * 1000, SSH_PORT = 22 };

/* ssh expands "%" in a ProxyCommand, which a shell then reads. */
static void worker_place_add_word(struct buf *out, const char *word)
{
    AUTO_BUF struct buf quoted;
    buf_init(&quoted, PROXY_BYTES_MAX);
    shell_quote(&quoted, str_from(word));
    for (size_t i = 0; i < quoted.len; i++) {
        buf_add_c(out, quoted.ptr[i] == '%' ? "%" : "");
        buf_add_char(out, quoted.ptr[i]);
    }
    buf_add_char(out, ' ');
}

/* "ssh OPTIONS -l USER -W ADDRESS:22 -- HEAD" */
static bool proxy_to(const struct ssh_target *head, struct str address, struct arena *arena,
                     struct str *ret_proxy, struct err *err)
{
    AUTO_BUF struct buf out;
    const char *const *argv;
    struct ssh_session session = {.has_no_command = true};
    bool is_ipv6 = str_find_char(address, ':') != SIZE_MAX;
    buf_init(&out, PROXY_BYTES_MAX);
    if (!ssh_argv(head, &session, arena, &argv, err)) {
        return false;
    }
    for (size_t i = 0; argv[i]; i++) {
        if (argv[i][0] == '-' && argv[i][1] == 'N') {
            continue; /* -W implies it */
        }
        if (argv[i][0] == '-' && argv[i][1] == 'l') {
            worker_place_add_word(&out, "-W");
            worker_place_add_word(&out, arena_printf(arena, "%s%.*s%s:%d", is_ipv6 ? "[" : "",
                                                     STR_ARG(address), is_ipv6 ? "]" : "", SSH_PORT)
                                            .ptr);
        }
        worker_place_add_word(&out, argv[i]);
    }
    if (out.is_full) {
        return err_set(err, ERR_CONFIG, "the ssh options for the way to workers are too long");
    }
    *ret_proxy = arena_str(arena, str_trim(buf_str(&out)));
    return true;
}

/* ---- host keys ---- */

/* Lines of the head's known_hosts: "NAME ssh-ed25519 AAAA...". Only lines of the workers count. */
static void pin_all(const struct cluster_state *state, struct str lines,
                    struct worker_place *places, size_t count)
{
    struct str before = STR("");
    struct err ignored; /* then the worker has no key */
    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n');
        struct str name = str_cut(&line, ' ');
        for (size_t i = 0; i < count; i++) {
            if (str_eq(places[i].place.machine, name)) {
                (void)!cluster_state_pin(state, name, line, str_eq(name, before), &ignored);
                break;
            }
        }
        before = name;
    }
    for (size_t i = 0; i < count; i++) {
        places[i].has_key = cluster_state_is_pinned(state, places[i].place.machine);
    }
}

/* The head's files have the same names as ours. */
static struct str worker_place_file(const struct worker_place *worker)
{
    const char *slash = strrchr(worker->place.known_hosts, '/');
    return str_from(slash ? slash + 1 : worker->place.known_hosts);
}

static bool learn_host_keys(struct target *target, const struct cluster_state *state,
                            const struct ssh_target *head, struct worker_place *places,
                            size_t count, struct err *err)
{
    AUTO_BUF struct buf command;
    AUTO_BUF struct buf lines;
    const char *const *argv;
    buf_init(&command, PROXY_BYTES_MAX);
    buf_init(&lines, KEYS_BYTES_MAX);
    buf_add_c(&command, "cd ~/.shoal/cluster/known_hosts && { cat --");
    for (size_t i = 0; i < count; i++) {
        buf_add_char(&command, ' ');
        shell_quote(&command, worker_place_file(&places[i]));
    }
    buf_add_c(&command, " 2>/dev/null || true; }"); /* some may be missing */
    struct ssh_target way = *head;
    way.control = NULL;
    struct ssh_session session = {.command = arena_str(target->cli.arena, buf_str(&command))};
    if (!ssh_argv(&way, &session, target->cli.arena, &argv, err)) {
        return false;
    }
    if (!tools_run_clean(argv, KEYS_MS, &lines, err)) {
        return err_set(err, err->kind, "cannot read the workers' host keys from the head: %s",
                       err->text);
    }
    pin_all(state, buf_str(&lines), places, count);
    return true;
}

/* ---- the workers ---- */

static bool worker_place_is_there(const struct node_view *view)
{
    return !view->is_head && view->id.len > 0 && view->private_ip.len > 0 &&
           view->phase != PHASE_TERMINATED && view->phase != PHASE_TERMINATING;
}

bool worker_places(struct target *target, const struct ssh_target *head,
                   const struct worker_place **ret_places, size_t *ret_count, struct err *err)
{
    struct arena *arena = target->cli.arena;
    struct cluster_state state;
    struct ctl_query_status said;
    *ret_count = 0;
    if (!cluster_state_open(target->config, false, arena, &state, err) ||
        !ctl_query_status(&target->session, head, arena, &said, err)) {
        return false;
    }
    if (!state.own_key) {
        return err_set(err, ERR_NOT_FOUND,
                       "this machine does not have the cluster's own key, which workers accept");
    }
    struct worker_place *places = ARENA_ARRAY(arena, said.node_count + 1, struct worker_place);
    for (size_t i = 0; i < said.node_count; i++) {
        const struct node_view *view = &said.nodes[i];
        if (!worker_place_is_there(view)) {
            continue;
        }
        struct worker_place *one = &places[(*ret_count)++];
        one->name = view->name;
        one->place = (struct ssh_target){
            .user = head->user,
            .address = view->private_ip,
            .machine = cluster_state_key_name(view->id),
            .known_hosts = cluster_state_known_hosts(&state, view->id, arena),
            .identity = state.own_key,
        };
        if (!proxy_to(head, view->private_ip, arena, &one->place.proxy_command, err)) {
            return false;
        }
    }
    *ret_places = places;
    return *ret_count == 0 || learn_host_keys(target, &state, head, places, *ret_count, err);
}
