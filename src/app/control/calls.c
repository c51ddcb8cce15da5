/* calls.c: begins and ends provider calls. */
#include "app/control/calls.h"

#include "base/require.h"

#include <stdlib.h>

struct call *call_begin(struct call_list *calls)
{
    struct call *call = calls->spare;
    if (call) {
        require(call->controller == calls->controller, "a recycled call is of this controller");
        require(!call->extra && !call->instances, "a recycled call owns nothing any more");
        calls->spare = call->next;
    } else {
        call = ARENA_NEW(calls->memory, struct call);
    }
    *call = (struct call){.controller = calls->controller,
                          .list = calls,
                          .next = calls->open,
                          .asked_at = loop_now_ms(calls->loop)};
    calls->open = call;
    return call;
}

struct controller *call_end(struct call *call)
{
    if (!call->controller) {
        return NULL;
    }
    require(call->controller == call->list->controller,
            "the call is in the list of its controller");
    require(call->asked_at <= loop_now_ms(call->list->loop), "a reply comes after its call");
    struct call **at = &call->list->open;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    call->next = call->list->spare;
    call->list->spare = call;
    return call->controller;
}

void call_free(struct call *call)
{
    require(!call->extra || call->extra_free, "what the caller adds can be freed");
    free(call->instances);
    if (call->extra) {
        call->extra_free(call->extra);
    }
    call->instances = NULL;
    call->extra = NULL;
}

void calls_clear(struct call_list *calls)
{
    for (struct call *call = calls->open; call; call = call->next) {
        call_free(call);
        call->controller = NULL;
    }
}
