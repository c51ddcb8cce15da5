/* desk_log.c: a log to one guest, line by line. */
#include "app/head/channel/desk_parts.h"

#include "app/head/service.h"
#include "io/file.h"
#include "io/heap.h"

#include <string.h>

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
        desk_say_text(reading->guest, CTL_LOG, buf_str(&reading->line), STR(""));
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

/* The head was set up from elsewhere: what its steps said is where the steps are. */
static struct str log_path(struct desk *desk, struct str node)
{
    return str_is(node, "service") ? arena_printf(&desk->arena, "%s/%s", desk->folder, SERVICE_LOG)
           : str_is(node, "head")
               ? file_expand_home(&desk->arena, STR("~/.shoal/steps/log/all"))
               : arena_printf(&desk->arena, "%s/log/%.*s", desk->folder, STR_ARG(node));
}

void desk_say_log(struct guest *guest, const struct ctl_request *request)
{
    struct desk *desk = guest->desk;
    struct err err;
    if (!is_node_name(request->node)) {
        desk_say_text(guest, CTL_ERROR, STR("which log? \"node\" is the name of a node"),
                      STR("log"));
        return;
    }
    struct str path = log_path(desk, request->node);
    watch_end(guest->log_watch);
    guest->log_watch = NULL;
    free(guest->log_path);
    guest->log_path = desk_copy(path);
    guest->log_offset = 0;
    if (!say_log(guest, &err) ||
        (request->follows && !watch_start(desk->loop, guest->log_path, on_log_changed, guest,
                                          &guest->log_watch, &err))) {
        desk_say_text(guest, CTL_ERROR, str_from(err.text), STR("log"));
    } else if (!request->follows) {
        desk_say_text(guest, CTL_END, STR("log"), STR(""));
    }
}
