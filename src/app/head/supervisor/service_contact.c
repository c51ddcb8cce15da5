/*
 * service_contact.c: sends messages to workers that are not in Ray, so that they keep running.
 *
 * Such a worker waits for the head's Ray, or lost it while the head's Ray is stopped or replaced.
 * Its dead-man switch (app/contact.h) would shut it down. Workers in Ray need no message, because
 * their running raylet is sufficient. Only the holder of the lease sends messages.
 */
#include "app/contact.h"
#include "app/head/supervisor/service_supervisor.h"
#include "io/xalloc.h"
#include "remote/ssh.h"

/* The first message is delayed: setup sessions are contact too, and most workers join soon. */
enum { SEND_MS = 10 * 1000, FIRST_MS = 60 * 1000 };

/* One argument for any login shell. A machine without the switch does not have the folder. */
static const char command[] = "exec sh -c 'test ! -d /run/shoal || echo 1 >>" CONTACT_FILE "'";

struct contacts {
    struct loop_timer *timer;
    int64_t every_ms;
};

static void service_contact_on_sent(void *context, const struct child_result *result)
{
    (void)context; /* an unreachable worker is detected elsewhere */
    (void)result;
}

static void send_to(void *context, const struct managed_node *managed_node)
{
    struct service *service = context;
    const struct machine *machine = managed_node->machine;
    struct arena arena;
    const char *const *argv;
    struct err err;
    bool is_waiting = !managed_node->is_head && machine && machine->state == MACHINE_RUNNING &&
                      machine->private_ip.len > 0 &&
                      cluster_state_is_pinned(&service->state, machine->id) &&
                      ray_view_node_id(service->mirror, managed_node->instance).len == 0;
    if (!is_waiting) {
        return;
    }
    arena_init(&arena);
    struct ssh_target place = {
        .user = service->config->ssh_user,
        .address = machine->private_ip,
        .machine = machine->id,
        .known_hosts = cluster_state_known_hosts(&service->state, machine->id, &arena),
        .identity = service->identity,
        .control = cluster_state_control(&service->state, machine->id, &arena),
        .is_near = true,
    };
    if (ssh_argv(&place, &(struct ssh_session){.command = str_from(command)}, &arena, &argv,
                 &err)) {
        child_start(service->session.children, &(struct child_spec){
                                                   .argv = argv,
                                                   .env_names = child_usual_env,
                                                   .deadline_ms = SEND_MS,
                                                   .done = service_contact_on_sent,
                                                   .context = service,
                                               });
    }
    arena_clear(&arena);
}

static void send_all(void *context)
{
    struct service *service = context;
    if (service->controller && service->is_leading && !service->is_ending) {
        controller_each(service->controller, send_to, service);
    }
    loop_timer_start(service->contacts->timer, service->contacts->every_ms);
}

void service_open_contacts(struct service *service)
{
    int64_t timeout_ms = contact_timeout_ms(service->config->shoal);
    service->contacts = HEAP_NEW(struct contacts);
    service->contacts->timer = loop_timer_new(service->session.loop, send_all, service);
    service->contacts->every_ms = contact_every_ms(timeout_ms);
    if (timeout_ms > 0) {
        int64_t every_ms = service->contacts->every_ms;
        loop_timer_start(service->contacts->timer, every_ms < FIRST_MS ? every_ms : FIRST_MS);
    }
}

void service_close_contacts(struct service *service)
{
    if (service->contacts) {
        loop_timer_free(service->contacts->timer);
        free(service->contacts);
        service->contacts = NULL;
    }
}
