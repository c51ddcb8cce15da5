/*
 * service_contact.c: sends messages to workers that are not in Ray, so that they keep running.
 *
 * Such a worker waits for the head's Ray, or lost it while the head's Ray is stopped or replaced.
 * Its dead-man switch (app/contact.h) would shut it down. Workers in Ray need no message, because
 * their running raylet is sufficient. Only the holder of the lease sends messages.
 */
#include "app/head/service_contact.h"

#include "app/contact.h"
#include "io/xalloc.h"
#include "provider/local/host_script.h"
#include "remote/ssh.h"

/* The first message is delayed: setup sessions are contact too, and most workers join soon. */
enum { SEND_MS = 10 * 1000, FIRST_MS = 60 * 1000 };

/* One argument for any login shell. A machine without the switch does not have the folder. */
static const char command[] = "exec sh -c 'for f in " CONTACT_FILE " " HOST_FOLDER
                              "/contact; do test ! -e $f || echo 1 >>$f; done'";

struct contacts {
    struct head_context *head;
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
    struct head_context *head = context;
    const struct machine *machine = managed_node->machine;
    struct arena arena;
    const char *const *argv;
    struct err err;
    bool is_waiting = !managed_node->is_head && machine && machine->state == MACHINE_RUNNING &&
                      machine->private_ip.len > 0 &&
                      cluster_state_is_pinned(&head->state, machine->id) &&
                      !head_ray_has(head, managed_node->instance);
    if (!is_waiting) {
        return;
    }
    arena_init(&arena);
    struct ssh_target place = {
        .user = head->config->ssh_user,
        .address = machine->private_ip,
        .machine = cluster_state_key_name(machine->id),
        .known_hosts = cluster_state_known_hosts(&head->state, machine->id, &arena),
        .identity = head->identity,
        .control = cluster_state_control(&head->state, machine->id, &arena),
        .is_near = true,
    };
    if (ssh_argv(&place, &(struct ssh_session){.command = str_from(command)}, &arena, &argv,
                 &err)) {
        child_start(head->session.children, &(struct child_spec){
                                                .argv = argv,
                                                .env_names = child_usual_env,
                                                .deadline_ms = SEND_MS,
                                                .done = service_contact_on_sent,
                                            });
    }
    arena_clear(&arena);
}

static void send_all(void *context)
{
    struct contacts *contacts = context;
    struct head_context *head = contacts->head;
    if (head->controller && head->is_leading && !head->is_ending) {
        controller_each(head->controller, send_to, head);
    }
    loop_timer_start(contacts->timer, contacts->every_ms);
}

struct contacts *contacts_open(struct head_context *head)
{
    int64_t timeout_ms = contact_timeout_ms(head->config->shoal);
    struct contacts *contacts = HEAP_NEW(struct contacts);
    contacts->head = head;
    contacts->timer = loop_timer_new(head->session.loop, send_all, contacts);
    contacts->every_ms = contact_every_ms(timeout_ms);
    if (timeout_ms > 0) {
        loop_timer_start(contacts->timer,
                         contacts->every_ms < FIRST_MS ? contacts->every_ms : FIRST_MS);
    }
    return contacts;
}

void contacts_close(struct contacts *contacts)
{
    if (contacts) {
        loop_timer_free(contacts->timer);
        free(contacts);
    }
}
