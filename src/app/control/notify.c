/*
 * notify.c: calls the owner's hooks from the loop, one at a time.
 *
 * A hook may call anything, including controller_close().
 */
#include "app/control/notify.h"

#include "app/control/controller_internal.h"
#include "io/xalloc.h"

#include <stdarg.h>

enum { TEXT_BYTES_MAX = 2048 };

static void notification_free(struct news *news)
{
    arena_clear(&news->memory);
    free(news);
}

static struct news *notify_push(struct controller *controller, enum notification_kind kind)
{
    struct news *news = HEAP_NEW(struct news);
    news->kind = kind;
    arena_init(&news->memory);
    if (controller->last_notification) {
        controller->last_notification->next = news;
    } else {
        controller->news = news;
    }
    controller->last_notification = news;
    loop_defer(controller->loop, &controller->notify_task);
    return news;
}

static struct news *pop(struct controller *controller)
{
    struct news *news = controller->news;
    controller->news = news->next;
    if (!controller->news) {
        controller->last_notification = NULL;
    }
    return news;
}

static void notify_keep_lease(struct news *news, const struct cluster_lease *lease)
{
    if (lease) {
        news->has_lease = true;
        news->lease = *lease;
        news->lease.uid = arena_str(&news->memory, lease->uid);
        news->lease.holder = arena_str(&news->memory, lease->holder);
    }
}

/* ---- delivery ---- */

static void tell_of(struct controller *controller, const struct news *news)
{
    struct known *known = machine_table_find(&controller->machine_table, news->instance);
    struct managed_node managed_node = {.instance = news->instance};
    if (!controller_find(controller, news->instance, &managed_node)) {
        managed_node.is_head = news->instance == HEAD_INSTANCE;
    }
    if (news->kind == NOTIFY_CHANGED && known) {
        known->has_change = false;
    }
    if (news->kind == NOTIFY_CHANGED && controller->setup.hooks.changed) {
        controller->setup.hooks.changed(controller->setup.hooks.context, &managed_node);
    } else if (news->kind == NOTIFY_SET_UP && controller->setup.hooks.set_up) {
        controller->setup.hooks.set_up(controller->setup.hooks.context, &managed_node);
    }
}

static void notify_report_warning(const struct controller_hooks *hooks, struct news *news)
{
    if (news->launch != 0 && hooks->launch_failed) {
        hooks->launch_failed(hooks->context, news->launch, &news->answer, news->text);
    } else if (news->launch != 0 && hooks->trouble) {
        hooks->trouble(hooks->context, &news->answer,
                       arena_printf(&news->memory, "launch %u.%u: %.*s", LAUNCH_ARG(news->launch),
                                    STR_ARG(news->text)));
    } else if (hooks->trouble) {
        hooks->trouble(hooks->context, &news->answer, news->text);
    }
}

static void notify_report(struct controller *controller, struct news *news)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    switch (news->kind) {
    case NOTIFY_STARTED:
        if (hooks->started) {
            hooks->started(hooks->context, &controller->lease);
        }
        break;
    case NOTIFY_SET_UP:
    case NOTIFY_CHANGED:
        tell_of(controller, news);
        break;
    case NOTIFY_WARNING:
        notify_report_warning(hooks, news);
        break;
    case NOTIFY_LEASE_LOST:
        if (hooks->lease_lost) {
            const struct err *why = &news->answer.err;
            hooks->lease_lost(hooks->context, news->has_lease ? &news->lease : NULL,
                              why->kind != ERR_NONE ? why : NULL);
        }
        break;
    case NOTIFY_EMPTIED:
        if (hooks->emptied) {
            hooks->emptied(hooks->context);
        }
        break;
    }
}

/* Delivers one notification per loop turn. Must not touch the controller after the hook. */
static void notify_report_next(void *context)
{
    struct controller *controller = context;
    struct news *news = pop(controller);
    if (controller->news) {
        loop_defer(controller->loop, &controller->notify_task);
    }
    notify_report(controller, news);
    notification_free(news);
}

/* ---- queueing ---- */

void notify_changed(struct controller *controller, uint64_t instance)
{
    struct known *known = machine_table_find(&controller->machine_table, instance);
    if (instance == INSTANCE_NONE || (known && known->has_change)) {
        return;
    }
    if (known) {
        known->has_change = true;
    }
    notify_push(controller, NOTIFY_CHANGED)->instance = instance;
}

void notify_set_up(struct controller *controller, uint64_t instance)
{
    notify_push(controller, NOTIFY_SET_UP)->instance = instance;
}

void notify_started(struct controller *controller)
{
    (void)notify_push(controller, NOTIFY_STARTED);
}

void notify_emptied(struct controller *controller)
{
    (void)notify_push(controller, NOTIFY_EMPTIED);
}

void notify_lease_lost(struct controller *controller, const struct cluster_lease *lease,
                       const struct err *why)
{
    struct news *news = notify_push(controller, NOTIFY_LEASE_LOST);
    notify_keep_lease(news, lease);
    if (why) {
        news->answer.err = *why;
    }
}

PRINTF_LIKE(4, 0)
static void notify_push_warning(struct controller *controller, uint64_t launch,
                                const struct provider_answer *answer, const char *fmt, va_list args)
{
    struct news *news = notify_push(controller, NOTIFY_WARNING);
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    buf_add_args(&text, fmt, args);
    news->launch = launch;
    news->answer = *answer;
    news->text = arena_str(&news->memory, buf_str(&text));
}

void notify_warning(struct controller *controller, const struct provider_answer *answer,
                    const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    notify_push_warning(controller, 0, answer, fmt, args);
    va_end(args);
}

void notify_launch_failed(struct controller *controller, uint64_t launch,
                          const struct provider_answer *answer, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    notify_push_warning(controller, launch, answer, fmt, args);
    va_end(args);
}

void notify_clear(struct controller *controller)
{
    while (controller->news) {
        notification_free(pop(controller));
    }
    loop_later_cancel(controller->loop, &controller->notify_task);
}

void notify_init(struct controller *controller)
{
    controller->notify_task = (struct loop_task){.run = notify_report_next, .context = controller};
}
