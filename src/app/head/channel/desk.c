/* desk.c: guests on the control socket. */
#include "app/head/channel/desk.h"

#include "app/head/channel/desk_parts.h"
#include "app/head/service.h"
#include "io/heap.h"

#include <string.h>

enum { GUESTS_MAX = 200 };

static void on_end(void *context, const struct err *err);

/* ---- requests ---- */

static void answer_update(struct guest *guest)
{
    struct err err;
    struct desk *desk = guest->desk;
    if (desk->hooks.update(desk->hooks.context, &err)) {
        desk_say_text(guest, CTL_DONE, STR("update"), STR(""));
    } else {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("update"));
    }
}

/* Something that takes its time, mostly. */
static void answer_later(struct guest *guest, const char *what,
                         bool (*work)(void *context, bool *ret_is_later, struct err *err))
{
    struct err err;
    bool is_later = false;
    if (!work(guest->desk->hooks.context, &is_later, &err)) {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), str_from(what));
    } else if (is_later) {
        guest->waits_for = what;
    } else {
        desk_say_text(guest, CTL_DONE, str_from(what), STR(""));
    }
}

/* ---- questions ---- */

static void say_answer(void *context, const struct ctl_answer *answer)
{
    desk_say(context, &(struct ctl_line){.kind = CTL_EXPLAIN, .answer = *answer});
}

static void answer_explain(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    struct err err;
    if (desk->hooks.explain(desk->hooks.context, request->about, &desk->arena, say_answer, guest,
                            &err)) {
        desk_say_text(guest, CTL_END, STR("explain"), STR(""));
    } else {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("explain"));
    }
}

static void answer_events(struct guest *guest, const struct ctl_request *request)
{
    struct err err;
    guest->events_after = request->after;
    if (!desk_say_events(guest, &err)) {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("events"));
    } else if (request->follows) {
        desk_begin_events(guest);
    } else {
        desk_say_text(guest, CTL_END, STR("events"), STR(""));
    }
}

static void answer_wishes(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    struct err err;
    if (desk->hooks.request_resources(desk->hooks.context, request->wishes, request->wish_count,
                                      &err)) {
        guest->waits_for = "request-resources";
    } else {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("request-resources"));
    }
}

static void answer_ray_status(struct guest *guest)
{
    struct desk *desk = guest->desk;
    struct err err;
    if (desk->hooks.ray_status(desk->hooks.context, &err)) {
        guest->waits_for = "ray-status";
    } else {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("ray-status"));
    }
}

static void answer_unknown(struct guest *guest, struct str what)
{
    struct str words = arena_printf(&guest->desk->arena,
                                    "this service (Shoal %s) does not know the request \"%.*s\"; "
                                    "`shoal up` brings the head to the version that asks",
                                    SHOAL_VERSION, STR_ARG(str_sub(what, 0, 100)));
    desk_say_text(guest, CTL_ERROR, words, what);
}

/* What only looks. */
static bool answer_question(struct guest *guest, const struct ctl_request *request)
{
    if (str_is(request->what, "status")) {
        desk_say_all(guest, request->wants_all);
        desk_say_text(guest, CTL_END, STR("status"), STR(""));
    } else if (str_is(request->what, "follow")) {
        desk_begin_follow(guest, request->wants_all);
    } else if (str_is(request->what, "log")) {
        desk_say_log(guest, request);
    } else if (str_is(request->what, "events")) {
        answer_events(guest, request);
    } else if (str_is(request->what, "explain")) {
        answer_explain(guest, request);
    } else if (str_is(request->what, "ray-status")) {
        answer_ray_status(guest);
    } else {
        return false;
    }
    return true;
}

static void answer(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    if (answer_question(guest, request)) {
        return;
    }
    if (str_is(request->what, "update")) {
        answer_update(guest);
    } else if (str_is(request->what, "stand-down")) {
        answer_later(guest, "stand-down", desk->hooks.stand_down);
    } else if (str_is(request->what, "end")) {
        answer_later(guest, "end", desk->hooks.end);
    } else if (str_is(request->what, "request-resources")) {
        answer_wishes(guest, request);
    } else {
        answer_unknown(guest, request->what);
    }
}

/* To all who wait for that: `text` before it is done, or why it is not. */
static void answer_waiting(struct desk *desk, const char *what, const struct str *text,
                           const struct err *err)
{
    struct guest *next;
    for (struct guest *guest = desk->guests; guest; guest = next) {
        next = guest->next;
        if (!guest->waits_for || strcmp(guest->waits_for, what) != 0) {
            continue;
        }
        guest->waits_for = NULL;
        if (err) {
            desk_say_text(guest, CTL_ERROR, str_from(err->text), str_from(what));
        } else if (text) {
            desk_say_text(guest, CTL_TEXT, *text, STR(""));
            desk_say_text(guest, CTL_END, str_from(what), STR(""));
        } else {
            desk_say_text(guest, CTL_DONE, str_from(what), STR(""));
        }
        if (guest->has_ended) {
            on_end(guest, &(struct err){0});
        }
    }
}

void desk_answer(struct desk *desk, const char *what, const struct err *err)
{
    answer_waiting(desk, what, NULL, err);
}

void desk_answer_text(struct desk *desk, const char *what, struct str text)
{
    answer_waiting(desk, what, &text, NULL);
}

/* ---- guests ---- */

static void remove_guest(struct guest *guest)
{
    struct desk *desk = guest->desk;
    *(guest->before ? &guest->before->next : &desk->guests) = guest->next;
    if (guest->next) {
        guest->next->before = guest->before;
    }
    desk->guest_count--;
    watch_end(guest->log_watch);
    free(guest->log_path);
    free(guest);
}

static void on_line(void *context, struct str text)
{
    struct guest *guest = context;
    struct desk *desk = guest->desk;
    struct ctl_request request;
    struct err err;
    if (str_trim(text).len == 0) {
        return;
    }
    if (ctl_request_read(text, &desk->arena, &request, &err)) {
        answer(guest, &request);
    } else {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR(""));
    }
    arena_clear(&desk->arena);
}

/* Whoever has asked everything still gets what was answered, but follows nothing any more. */
static void on_end(void *context, const struct err *err)
{
    struct guest *guest = context;
    struct local_link *link = guest->link;
    if (err->kind == ERR_NONE && guest->waits_for) {
        guest->has_ended = true;
        return;
    }
    remove_guest(guest);
    if (err->kind == ERR_NONE) {
        local_link_finish(link);
    } else {
        local_link_close(link);
    }
}

static void on_guest(void *context, struct local_link *link)
{
    struct desk *desk = context;
    struct ctl_line greeting = {.kind = CTL_GREETING};
    if (desk->guest_count >= GUESTS_MAX) {
        return; /* it is closed */
    }
    struct guest *guest = HEAP_NEW(struct guest);
    guest->desk = desk;
    guest->link = link;
    guest->next = desk->guests;
    if (guest->next) {
        guest->next->before = guest;
    }
    desk->guests = guest;
    desk->guest_count++;
    local_link_begin(link, &(struct local_link_hooks){guest, on_line, on_end});
    desk->hooks.greeting(desk->hooks.context, &greeting);
    desk_say(guest, &greeting);
}

/* ---- the desk ---- */

bool desk_open(struct loop *loop, const char *folder, const struct desk_hooks *hooks,
               struct desk **ret_desk, struct err *err)
{
    struct desk *desk = HEAP_NEW(struct desk);
    desk->loop = loop;
    desk->hooks = *hooks;
    desk->folder = desk_copy(str_from(folder));
    arena_init(&desk->arena);
    desk_follow_open(desk);
    const char *path = arena_printf(&desk->arena, "%s/%s", folder, SERVICE_SOCKET).ptr;
    struct local_link_limits limits = {.line_max = CTL_LINE_BYTES_MAX};
    if (!local_server_open(loop, path, &limits, on_guest, desk, &desk->server, err)) {
        desk_close(desk);
        return false;
    }
    *ret_desk = desk;
    return true;
}

void desk_close(struct desk *desk)
{
    if (!desk) {
        return;
    }
    desk_follow_close(desk);
    while (desk->guests) {
        remove_guest(desk->guests);
    }
    local_server_close(desk->server); /* and its links */
    arena_clear(&desk->arena);
    free(desk->folder);
    free(desk);
}
