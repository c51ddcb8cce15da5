/* node_log.c: writes timestamped lines, with output indented below them. */
#include "app/node_log.h"

#include "base/utf8.h"
#include "io/file.h"

#include <stdarg.h>

enum { LINE_MAX_BYTES = 4096, TEXT_MAX_BYTES = 128 * 1024 };

struct node_log node_log_at(const char *folder, struct str name, const struct clock *clock,
                            struct arena *arena)
{
    return (struct node_log){arena_printf(arena, "%s/log/%.*s", folder, STR_ARG(name)).ptr, clock};
}

static void append(const struct node_log *log, const struct buf *text)
{
    struct err ignored;
    if (!file_append(log->path, buf_str(text), 0600, &ignored)) {
        ignored.kind = ERR_NONE;
    }
}

void node_log_say(const struct node_log *log, const char *fmt, ...)
{
    AUTO_BUF struct buf said;
    AUTO_BUF struct buf line;
    va_list args;
    buf_init(&said, LINE_MAX_BYTES);
    buf_init(&line, 2 * LINE_MAX_BYTES);
    va_start(args, fmt);
    buf_add_args(&said, fmt, args);
    va_end(args);
    clock_add_utc(&line, clock_wall_ms(log->clock));
    buf_add_char(&line, ' ');
    utf8_add_visible(&line, buf_str(&said), false);
    buf_add_char(&line, '\n');
    append(log, &line);
}

void node_log_text(const struct node_log *log, struct str text)
{
    AUTO_BUF struct buf plain;
    AUTO_BUF struct buf lines;
    buf_init(&plain, TEXT_MAX_BYTES);
    buf_init(&lines, TEXT_MAX_BYTES);
    utf8_add_unstyled(&plain, text);
    struct str rest = str_trim(buf_str(&plain));
    while (rest.len > 0) {
        buf_add_c(&lines, "    ");
        utf8_add_visible(&lines, str_cut(&rest, '\n'), false);
        buf_add_char(&lines, '\n');
    }
    append(log, &lines);
}

void node_log_event(const struct node_log *log, const struct step_event *event)
{
    switch (event->kind) {
    case STEP_BEGAN:
        node_log_say(log, "%.*s", STR_ARG(event->name));
        break;
    case STEP_SAID:
        node_log_text(log, event->tail);
        break;
    case STEP_SKIPPED:
        node_log_say(log, "%.*s: done before", STR_ARG(event->name));
        break;
    case STEP_DONE:
        node_log_say(log, "%.*s: done in %lld ms", STR_ARG(event->name), (long long)event->took_ms);
        break;
    case STEP_AGAIN:
        node_log_say(log, "%.*s: failed with status %d; retrying", STR_ARG(event->name),
                     event->status);
        break;
    case STEP_FAILED:
        node_log_say(log, "%.*s: failed with status %d", STR_ARG(event->name), event->status);
        break;
    case STEP_BUNDLE_BEGAN:
    case STEP_BUNDLE_DONE:
    case STEP_BUNDLE_FAILED:
    case STEP_EVENT_KIND_COUNT:
        break; /* reported by the owner of the session */
    }
}
