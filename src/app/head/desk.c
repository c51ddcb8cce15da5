/* desk.c: guests on the control socket. */
#include "app/head/desk.h"

#include "app/head/service.h"
#include "core/event.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/heap.h"
#include "io/local_socket.h"
#include "io/watch.h"

#include <string.h>

enum { GUESTS_MAX = 200, OUT_BYTES_MAX = 2 * CTL_LINE_BYTES_MAX };

struct guest {
    struct guest *next, *before;
    struct desk *desk;
    struct local_link *link;
    bool follows;
    bool has_ended;          /* it asks no more, but waits for that answer */
    const char *waits_for;   /* an answer that comes later */
    struct watch *log_watch; /* it follows a log */
    char *log_path;
    size_t log_offset; /* that it has seen */
};

struct desk {
    struct loop *loop;
    struct arena arena; /* of one answer */
    char *folder;
    struct desk_hooks hooks;
    struct local_server *server;
    struct guest *guests;
    size_t guest_count;
    struct loop_task telling;
    uint64_t *changed; /* on the heap */
    size_t changed_count, changed_capacity;
    bool is_status_changed;
    struct buf last_status; /* as it was told last */
};

/* ---- saying ---- */

static void say(struct guest *guest, const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    if (!out.is_full) {
        local_link_write(guest->link, buf_str(&out));
    }
}

static void say_text(struct guest *guest, enum ctl_line_kind kind, struct str text,
                     struct str about)
{
    say(guest, &(struct ctl_line){.kind = kind, .text = text, .about = about});
}

static void say_view(void *context, const struct node_view *view)
{
    say(context, &(struct ctl_line){.kind = CTL_NODE, .node = *view});
}

static void say_status(struct guest *guest)
{
    struct desk *desk = guest->desk;
    struct ctl_line line = {.kind = CTL_STATUS};
    desk->hooks.status(desk->hooks.context, &desk->arena, &line.status);
    say(guest, &line);
}

static void say_all(struct guest *guest)
{
    struct desk *desk = guest->desk;
    say_status(guest);
    desk->hooks.each(desk->hooks.context, &desk->arena, say_view, guest);
}

/* ---- followers ---- */

static void tell_node(struct desk *desk, uint64_t instance)
{
    struct ctl_line line = {.kind = CTL_NODE};
    if (!desk->hooks.one(desk->hooks.context, instance, &desk->arena, &line.node)) {
        return;
    }
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows) {
            say(guest, &line);
        }
    }
}

static void tell_status(struct desk *desk)
{
    struct ctl_line line = {.kind = CTL_STATUS};
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_BYTES_MAX);
    desk->hooks.status(desk->hooks.context, &desk->arena, &line.status);
    ctl_line_write(&line, &out);
    if (str_eq(buf_str(&out), buf_str(&desk->last_status))) {
        return;
    }
    desk->last_status.len = 0;
    buf_add(&desk->last_status, buf_str(&out));
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows) {
            local_link_write(guest->link, buf_str(&out));
        }
    }
}

static void tell(void *context)
{
    struct desk *desk = context;
    for (size_t i = 0; i < desk->changed_count; i++) {
        tell_node(desk, desk->changed[i]);
    }
    desk->changed_count = 0;
    tell_status(desk);
    arena_clear(&desk->arena);
}

static void note_changed(struct desk *desk, uint64_t instance)
{
    for (size_t i = 0; i < desk->changed_count; i++) {
        if (desk->changed[i] == instance) {
            return;
        }
    }
    if (desk->changed_count == desk->changed_capacity) {
        size_t more = desk->changed_capacity > 0 ? 2 * desk->changed_capacity : 64;
        uint64_t *items = realloc(desk->changed, more * sizeof(*items));
        if (!items) {
            panic("out of memory (%zu changes)", more);
        }
        desk->changed = items;
        desk->changed_capacity = more;
    }
    desk->changed[desk->changed_count++] = instance;
}

void desk_changed(struct desk *desk, uint64_t instance)
{
    if (instance != INSTANCE_NONE) {
        note_changed(desk, instance);
    }
    loop_later(desk->loop, &desk->telling);
}

void desk_tell_trouble(struct desk *desk, struct str text)
{
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->follows) {
            say_text(guest, CTL_ERROR, text, STR(""));
        }
    }
}

/* ---- logs ---- */

struct log_reading {
    struct guest *guest;
    size_t offset; /* of the next bytes */
    struct buf line;
};

static bool take_log(void *context, struct str bytes)
{
    struct log_reading *reading = context;
    size_t begin = reading->offset;
    reading->offset += bytes.len;
    size_t seen = reading->guest->log_offset;
    struct str rest = seen > begin ? str_sub(bytes, seen - begin, bytes.len) : bytes;
    while (rest.len > 0) {
        size_t end = str_find_char(rest, '\n');
        buf_add(&reading->line, str_sub(rest, 0, end == SIZE_MAX ? rest.len : end));
        if (end == SIZE_MAX) {
            return true;
        }
        rest = str_sub(rest, end + 1, rest.len);
        say_text(reading->guest, CTL_LOG, buf_str(&reading->line), STR(""));
        reading->guest->log_offset = reading->offset - rest.len;
        reading->line.len = 0;
    }
    return true;
}

/* From where it has seen it to the last whole line. */
static bool say_log(struct guest *guest, struct err *err)
{
    struct log_reading reading = {.guest = guest};
    buf_init(&reading.line, CTL_LINE_BYTES_MAX / 8);
    bool ok = file_stream(guest->log_path, take_log, &reading, err);
    buf_clear(&reading.line);
    return ok;
}

static void on_log_changed(void *context)
{
    struct guest *guest = context;
    struct err ignored;
    if (!say_log(guest, &ignored)) {
        watch_end(guest->log_watch);
        guest->log_watch = NULL;
    }
}

static bool is_node_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return name.len > 0 && name.len < 64;
}

static char *copy_text(struct str text)
{
    char *copy = heap_zeroed(text.len + 1);
    return memcpy(copy, text.ptr, text.len);
}

/* The head was set up from elsewhere: what its steps said is where the steps are. */
static struct str log_path(struct desk *desk, struct str node)
{
    return str_is(node, "service") ? arena_printf(&desk->arena, "%s/%s", desk->folder, SERVICE_LOG)
           : str_is(node, "head")
               ? file_expand_home(&desk->arena, STR("~/.shoal/steps/log/all"))
               : arena_printf(&desk->arena, "%s/log/%.*s", desk->folder, STR_ARG(node));
}

static void answer_log(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    struct err err;
    if (!is_node_name(request->node)) {
        say_text(guest, CTL_ERROR, STR("which log? \"node\" is the name of a node"), STR("log"));
        return;
    }
    struct str path = log_path(desk, request->node);
    watch_end(guest->log_watch);
    guest->log_watch = NULL;
    free(guest->log_path);
    guest->log_path = copy_text(path);
    guest->log_offset = 0;
    if (!say_log(guest, &err) ||
        (request->follows && !watch_start(desk->loop, guest->log_path, on_log_changed, guest,
                                          &guest->log_watch, &err))) {
        say_text(guest, CTL_ERROR, str_from(err.text), STR("log"));
    } else if (!request->follows) {
        say_text(guest, CTL_END, STR("log"), STR(""));
    }
}

static void on_end(void *context, const struct err *err);

/* ---- requests ---- */

static void answer_update(struct guest *guest)
{
    struct err err;
    struct desk *desk = guest->desk;
    if (desk->hooks.update(desk->hooks.context, &err)) {
        say_text(guest, CTL_DONE, STR("update"), STR(""));
    } else {
        say_text(guest, CTL_ERROR, str_from(err.text), STR("update"));
    }
}

/* Something that takes its time, mostly. */
static void answer_later(struct guest *guest, const char *what,
                         bool (*work)(void *context, bool *ret_is_later, struct err *err))
{
    struct err err;
    bool is_later = false;
    if (!work(guest->desk->hooks.context, &is_later, &err)) {
        say_text(guest, CTL_ERROR, str_from(err.text), str_from(what));
    } else if (is_later) {
        guest->waits_for = what;
    } else {
        say_text(guest, CTL_DONE, str_from(what), STR(""));
    }
}

static void answer(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    if (str_is(request->what, "status")) {
        say_all(guest);
        say_text(guest, CTL_END, STR("status"), STR(""));
    } else if (str_is(request->what, "follow")) {
        say_all(guest);
        guest->follows = true;
    } else if (str_is(request->what, "log")) {
        answer_log(guest, request);
    } else if (str_is(request->what, "update")) {
        answer_update(guest);
    } else if (str_is(request->what, "stand-down")) {
        answer_later(guest, "stand-down", desk->hooks.stand_down);
    } else if (str_is(request->what, "end")) {
        answer_later(guest, "end", desk->hooks.end);
    } else {
        say_text(guest, CTL_ERROR,
                 arena_printf(&desk->arena,
                              "this service (Shoal %s) does not know the request \"%.*s\"",
                              SHOAL_VERSION, STR_ARG(str_sub(request->what, 0, 100))),
                 request->what);
    }
}

void desk_answer(struct desk *desk, const char *what, const struct err *err)
{
    struct guest *next;
    for (struct guest *guest = desk->guests; guest; guest = next) {
        next = guest->next;
        if (!guest->waits_for || strcmp(guest->waits_for, what) != 0) {
            continue;
        }
        guest->waits_for = NULL;
        say_text(guest, err ? CTL_ERROR : CTL_DONE, str_from(err ? err->text : what),
                 err ? str_from(what) : STR(""));
        if (guest->has_ended) {
            on_end(guest, &(struct err){0});
        }
    }
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
        say_text(guest, CTL_ERROR, str_from(err.text), STR(""));
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
    say(guest, &greeting);
}

/* ---- the desk ---- */

bool desk_open(struct loop *loop, const char *folder, const struct desk_hooks *hooks,
               struct desk **ret_desk, struct err *err)
{
    struct desk *desk = HEAP_NEW(struct desk);
    desk->loop = loop;
    desk->hooks = *hooks;
    desk->folder = copy_text(str_from(folder));
    arena_init(&desk->arena);
    buf_init(&desk->last_status, CTL_LINE_BYTES_MAX);
    desk->telling = (struct loop_task){.run = tell, .context = desk};
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
    loop_later_cancel(desk->loop, &desk->telling);
    while (desk->guests) {
        remove_guest(desk->guests);
    }
    local_server_close(desk->server); /* and its links */
    arena_clear(&desk->arena);
    buf_clear(&desk->last_status);
    free(desk->changed);
    free(desk->folder);
    free(desk);
}
