/*
 * news.c: the hooks, all of them called from here, from the loop, one at a time.
 *
 * Whoever is told may ask for anything, closing the controller included.
 */
#include "app/control/controller_parts.h"

#include "io/heap.h"

#include <stdarg.h>

enum { TEXT_BYTES_MAX = 2048 };

static void free_news(struct news *news)
{
    arena_clear(&news->memory);
    free(news);
}

static struct news *push(struct controller *controller, enum news_kind kind)
{
    struct news *news = HEAP_NEW(struct news);
    news->kind = kind;
    arena_init(&news->memory);
    if (controller->last_news) {
        controller->last_news->next = news;
    } else {
        controller->news = news;
    }
    controller->last_news = news;
    loop_later(controller->loop, &controller->news_task);
    return news;
}

static struct news *pop(struct controller *controller)
{
    struct news *news = controller->news;
    controller->news = news->next;
    if (!controller->news) {
        controller->last_news = NULL;
    }
    return news;
}

static void keep_lease(struct news *news, const struct cluster_lease *lease)
{
    if (lease) {
        news->has_lease = true;
        news->lease = *lease;
        news->lease.uid = arena_str(&news->memory, lease->uid);
        news->lease.holder = arena_str(&news->memory, lease->holder);
    }
}

/* ---- telling ---- */

static void tell_of(struct controller *controller, const struct news *news)
{
    struct known *known = roster_find(&controller->roster, news->instance);
    struct controlled controlled = {.instance = news->instance};
    if (!controller_find(controller, news->instance, &controlled)) {
        controlled.is_head = news->instance == HEAD_INSTANCE;
    }
    if (news->kind == NEWS_CHANGED && known) {
        known->has_news = false;
    }
    if (news->kind == NEWS_CHANGED && controller->setup.hooks.changed) {
        controller->setup.hooks.changed(controller->setup.hooks.context, &controlled);
    } else if (news->kind == NEWS_SET_UP && controller->setup.hooks.set_up) {
        controller->setup.hooks.set_up(controller->setup.hooks.context, &controlled);
    }
}

static void tell(struct controller *controller, const struct news *news)
{
    const struct controller_hooks *hooks = &controller->setup.hooks;
    switch (news->kind) {
    case NEWS_STARTED:
        if (hooks->started) {
            hooks->started(hooks->context, &controller->lease);
        }
        break;
    case NEWS_SET_UP:
    case NEWS_CHANGED:
        tell_of(controller, news);
        break;
    case NEWS_TROUBLE:
        if (hooks->trouble) {
            hooks->trouble(hooks->context, &news->answer, news->text);
        }
        break;
    case NEWS_DEPOSED:
        if (hooks->deposed) {
            hooks->deposed(hooks->context, news->has_lease ? &news->lease : NULL);
        }
        break;
    case NEWS_EMPTIED:
        if (hooks->emptied) {
            hooks->emptied(hooks->context);
        }
        break;
    }
}

/* One in a turn of the loop: nothing of the controller is touched after a hook was called. */
static void tell_next(void *context)
{
    struct controller *controller = context;
    struct news *news = pop(controller);
    if (controller->news) {
        loop_later(controller->loop, &controller->news_task);
    }
    tell(controller, news);
    free_news(news);
}

/* ---- what there is to tell ---- */

void news_changed(struct controller *controller, uint64_t instance)
{
    struct known *known = roster_find(&controller->roster, instance);
    if (instance == INSTANCE_NONE || (known && known->has_news)) {
        return;
    }
    if (known) {
        known->has_news = true;
    }
    push(controller, NEWS_CHANGED)->instance = instance;
}

void news_set_up(struct controller *controller, uint64_t instance)
{
    push(controller, NEWS_SET_UP)->instance = instance;
}

void news_started(struct controller *controller)
{
    (void)push(controller, NEWS_STARTED);
}

void news_emptied(struct controller *controller)
{
    (void)push(controller, NEWS_EMPTIED);
}

void news_deposed(struct controller *controller, const struct cluster_lease *lease)
{
    keep_lease(push(controller, NEWS_DEPOSED), lease);
}

void news_trouble(struct controller *controller, const struct provider_answer *answer,
                  const char *fmt, ...)
{
    struct news *news = push(controller, NEWS_TROUBLE);
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, TEXT_BYTES_MAX);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    news->answer = *answer;
    news->text = arena_str(&news->memory, buf_str(&text));
}

void news_clear(struct controller *controller)
{
    while (controller->news) {
        free_news(pop(controller));
    }
    loop_later_cancel(controller->loop, &controller->news_task);
}

void news_init(struct controller *controller)
{
    controller->news_task = (struct loop_task){.run = tell_next, .context = controller};
}
