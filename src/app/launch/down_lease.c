/*
 * down_lease.c: the lease of `down`: asks the head's service to stand down, takes the lease over
 * from any other holder, and renews it. It never creates a lease object.
 */
#include "app/head/service.h"
#include "app/launch/down_internal.h"
#include "app/setup/setup_plan.h"

#include <string.h>

enum {
    LEASE_MS = 90 * 1000,
    RENEW_MS = 30 * 1000,
    STAND_DOWN_MS = 5000,
    CONNECT_S = 3,
    RESTARTS_MAX = 5, /* restarts of the head's service while its lease is taken over */
};

static void down_lease_take(struct down *down);

/* ---- renewing ---- */

static void on_renewed(void *context, const struct provider_answer *answer,
                       const struct cluster_lease *lease)
{
    struct down *down = context;
    struct err err;
    if (down->is_over) {
        return;
    }
    if (answer->outcome == OUTCOME_MISMATCH && answer->err.kind != ERR_NOT_FOUND) {
        err_set(&err, ERR_EXISTS,
                "%.*s has taken over this cluster, so this command terminates nothing more. Run "
                "`shoal down` again to take it back",
                STR_ARG(lease ? lease->holder : STR("another controller")));
        down_fail(down, &err);
        return;
    }
    if (answer->outcome == OUTCOME_MISMATCH) {
        launch_note(&down->launch, "the cluster's lease object was deleted; continuing without it");
        down->has_lease = false;
        return;
    }
    loop_timer_start(down->renew, RENEW_MS);
}

static void down_lease_on_renew(void *context)
{
    struct down *down = context;
    struct provider *provider = down->launch.provider;
    if (down->has_lease && !down->is_over) {
        provider->ops->renew(provider, LEASE_MS, on_renewed, down);
    }
}

/* ---- the head's service ---- */

static void stop_asking(struct down *down)
{
    struct ctl_client *ctl = down->ctl;
    down->ctl = NULL;
    ctl_client_close(ctl);
    loop_timer_stop(down->patience);
    down_lease_take(down);
}

/* A node without an id was requested, but its instance is not known yet. */
static void down_lease_handle_node(struct down *down, const struct node_view *view)
{
    if (view->id.len == 0 && view->phase < PHASE_READY) {
        down->has_nameless = true;
    } else if (view->id.len > 0) {
        struct down_node *node = down_know(down, view->id);
        node->name = node->name.len > 0 ? node->name : arena_str(down->launch.arena, view->name);
        node->launched_ms = node->launched_ms > 0 ? node->launched_ms : view->requested_ms;
    }
}

void down_take_line(void *context, const struct ctl_line *line)
{
    struct down *down = context;
    if (line->kind == CTL_DONE && str_is(line->text, "release")) {
        down->take_from = 0;
        /* After it stood down, this lists everything it launched. */
        ctl_client_ask(down->ctl, "status");
    } else if (line->kind == CTL_NODE) {
        down_lease_handle_node(down, &line->node);
    } else if (line->kind == CTL_END && str_is(line->text, "status")) {
        down->is_told = true;
        down->others = down->has_nameless ? OTHERS_UNKNOWN : OTHERS_NONE;
        stop_asking(down);
    }
}

static void down_lease_on_ctl_done(void *context, const struct err *err)
{
    struct down *down = context;
    (void)err;
    if (down->ctl) {
        stop_asking(down);
    }
}

static void on_patience(void *context)
{
    struct down *down = context;
    if (down->ctl) {
        launch_note(&down->launch, "the head's service does not answer; taking over its lease");
        stop_asking(down);
    }
}

/* On a machine that did not start the cluster: pins the host key that the head's tag names. */
static bool trust_tag(const struct cluster_session *launch, const struct machine *head)
{
    struct str key = machine_tag_value(head, TAG_HOST_KEY);
    struct err ignored; /* then the lease is taken over without asking */
    return key.len > 0 && launch->state.key && cluster_state_make(&launch->state, &ignored) &&
           cluster_state_pin(&launch->state, head->id, key, false, &ignored);
}

static bool ask_to_stand_down(struct down *down, const struct machine *head)
{
    struct cluster_session *launch = &down->launch;
    struct ssh_target place;
    const char *const *argv;
    struct err err;
    struct ssh_session session = {.command = STR(SETUP_PROGRAM " ctl")};
    struct str address = launch_address(launch->config, head, true);
    bool has_way = address.len > 0 || launch_reaches_by_id(launch->config);
    if (!launch->state.folder || head->state != MACHINE_RUNNING || !has_way ||
        (!launch_head_place(launch, head->id, address, &place) && !trust_tag(launch, head))) {
        return false;
    }
    place.connect_s = CONNECT_S;
    if (!ssh_argv(&place, &session, launch->arena, &argv, &err)) {
        return false;
    }
    down->ctl = ctl_client_open(
        launch->session->children, argv,
        &(struct ctl_client_hooks){down, down_take_line, down_lease_on_ctl_done});
    ctl_client_ask(down->ctl, "release");
    loop_timer_start(down->patience, STAND_DOWN_MS);
    return true;
}

/* True if the service is being asked; its reply continues the sequence. */
static bool ask_service(struct down *down)
{
    bool was_asked = down->was_asked;
    down->was_asked = true;
    for (size_t i = 0; !was_asked && i < down->named_count; i++) {
        const struct machine *machine = &down->named[i];
        if (machine_is_head(machine) &&
            str_eq(machine_tag_value(machine, TAG_CLUSTER_UID), down->uid) &&
            ask_to_stand_down(down, machine)) {
            return true;
        }
    }
    return false;
}

/* ---- taking ---- */

static bool is_own_holder(const struct down *down, struct str holder)
{
    struct str rest = down->holders;
    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, '\n'), holder)) {
            return true;
        }
    }
    return false;
}

static void down_lease_proceed(struct down *down)
{
    down->taken_at_ms = clock_wall_ms(loop_clock(down->launch.session->loop));
    if (down->has_lease) {
        loop_timer_start(down->renew, RENEW_MS);
    }
    down_look(down);
}

static void go_without(struct down *down)
{
    down->has_lease = false;
    down->launch.provider->ops->adopt(down->launch.provider, down->uid);
    down_lease_proceed(down);
}

/* The head's service was restarted and has retaken its own lease with a new epoch. */
static bool was_restarted(const struct down *down, const struct cluster_lease *lease)
{
    return down->take_from != 0 && lease->epoch > down->take_from &&
           str_starts(lease->holder, SERVICE_HOLDER) && down->restarts < RESTARTS_MAX;
}

/* The lease is held: ask the head's service to stand down, or take the lease over from any other
 * holder. */
static void meet_holder(struct down *down, const struct provider_answer *answer,
                        const struct cluster_lease *lease)
{
    bool is_again = lease && was_restarted(down, lease);
    if (!lease || (down->take_from != 0 && !is_again) || down->launch.setup->is_leftover ||
        down->launch.setup->is_expired) {
        /* Not abandoned: another process is working on the cluster. */
        down_fail(down, &answer->err);
        return;
    }
    if (is_again) {
        down->restarts++;
        down->was_asked = false;
    }
    down->take_from = lease->epoch;
    bool is_own = is_own_holder(down, lease->holder);
    if (is_own) {
        down->others = OTHERS_NONE; /* the journal has all of its launches */
    }
    if (str_starts(lease->holder, SERVICE_HOLDER) && ask_service(down)) {
        return;
    }
    if (!is_own) {
        launch_note(&down->launch, "taking the cluster over from %.*s", STR_ARG(lease->holder));
    }
    down_lease_take(down);
}

static void on_taken(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct down *down = context;
    struct cluster_session *launch = &down->launch;
    const struct launcher_hooks *hooks = &launch->setup->hooks;
    if (answer->outcome == OUTCOME_MISMATCH) {
        meet_holder(down, answer, lease);
        return;
    }
    if (answer->outcome == OUTCOME_NOT_FOUND) {
        go_without(down);
        return;
    }
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    if (lease->account.len > 0 && hooks->account) {
        hooks->account(hooks->context, lease->account);
    }
    down->has_lease = true;
    down->epoch = lease->epoch;
    down_lease_proceed(down);
}

/* Recorded so that the next `up` on this machine need not wait until the cloud shows that the lease
 * was released, or until it expires because this process was killed. Not added to "holders": the
 * journal does not have the launches of earlier holders. */
static void down_lease_record(struct down *down, struct str holder)
{
    struct err err;
    if (down->launch.journal) {
        (void)!journal_note(down->launch.journal, "down_holder", holder, &err);
    }
}

static void down_lease_take(struct down *down)
{
    struct cluster_session *launch = &down->launch;
    if (down->found.has_lease && str_eq(down->found.uid, down->uid)) {
        struct take_request request = {.holder = launch_holder("down", launch->arena),
                                       .lease_ms = LEASE_MS,
                                       .from = down->take_from};
        down_lease_record(down, request.holder);
        launch->provider->ops->take(launch->provider, &request, on_taken, down);
    } else {
        go_without(down);
    }
}

void down_take(struct down *down)
{
    struct loop *loop = down->launch.session->loop;
    int64_t now = clock_wall_ms(loop_clock(loop));
    down->patience = loop_timer_new(loop, on_patience, down);
    down->renew = loop_timer_new(loop, down_lease_on_renew, down);
    /* After the last lease ended, no other process launches. The time at which a lease was released
     * is not known. */
    int64_t until = down->found.lease_until;
    bool is_ended = down->found.has_lease && until > 0 && until < now / 1000;
    down->others = is_ended ? OTHERS_UNTIL : OTHERS_UNKNOWN;
    down->others_until_ms = is_ended ? until * 1000 : 0;
    if (down->found.has_lease || !ask_service(down)) {
        down_lease_take(down);
    }
}

void down_lease_close(struct down *down)
{
    ctl_client_close(down->ctl);
    if (down->patience) {
        loop_timer_free(down->patience);
        loop_timer_free(down->renew);
    }
}
