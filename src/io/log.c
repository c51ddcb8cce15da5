/* log.c: redacts a record, then escapes it, then truncates it: in this order, because half a secret
 * would not be recognized. */
#include "io/log.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024 * 1024 };

static const char *const level_names[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_ERROR] = "error",
};

/* Control characters, Unicode line separators and bidirectional marks. */
static bool is_tricky(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x200e ||
           c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static void log_add_escape(struct buf *out, struct str bytes, uint32_t c)
{
    if (c == '\n' || c == '\r' || c == '\t') {
        buf_add_c(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (c == UTF8_BAD || c < 0x80) {
        buf_addf(out, "\\x%02x", (unsigned)(unsigned char)bytes.ptr[0]);
    } else {
        buf_addf(out, "\\u%04x", (unsigned)c);
    }
}

static void add_harmless(struct buf *out, struct str text)
{
    size_t plain = 0; /* start of the text that needed no escaping */
    for (size_t at = 0; at < text.len;) {
        size_t len;
        struct str rest = str_sub(text, at, text.len);
        uint32_t c = utf8_decode(rest, &len);
        if (c == UTF8_BAD || is_tricky(c)) {
            buf_add(out, str_sub(text, plain, at));
            log_add_escape(out, rest, c);
            plain = at + len;
        }
        at += len;
    }
    buf_add(out, str_sub(text, plain, text.len));
}

/* At most `most` bytes, never splitting a character. */
static struct str log_cut(struct str text, size_t most)
{
    while (most > 0 && ((unsigned char)text.ptr[most] & 0xc0) == 0x80) {
        most--;
    }
    return str_sub(text, 0, most);
}

void log_format(const struct log *log, enum log_level level, struct str message, struct buf *out)
{
    AUTO_BUF struct buf clean;
    AUTO_BUF struct buf text;
    buf_init(&clean, SIZE_MAX / 2);
    buf_init(&text, SIZE_MAX / 2);
    redact_clean(log->redact, message, &clean);
    add_harmless(&text, buf_str(&clean));
    clock_add_utc(out, clock_wall_ms(log->clock));
    buf_addf(out, " %s ", level_names[level]);
    if (text.len > LOG_RECORD_MAX) {
        buf_add(out, log_cut(buf_str(&text), LOG_RECORD_MAX));
        buf_addf(out, " (truncated, %zu bytes in total)", text.len);
    } else {
        buf_add(out, buf_str(&text));
    }
    buf_add_char(out, '\n');
}

void log_write(const struct log *log, enum log_level level, const char *fmt, ...)
{
    if (!log_is_on(log, level)) {
        return;
    }
    AUTO_BUF struct buf message;
    AUTO_BUF struct buf line;
    va_list args;
    va_start(args, fmt);
    buf_init(&message, MESSAGE_MAX);
    buf_init(&line, LOG_RECORD_MAX + 200);
    buf_add_args(&message, fmt, args);
    va_end(args);
    struct str text = message.is_full ? STR("(a record of more than 1 MB was dropped)")
                                      : buf_str(&message);
    log_format(log, level, text, &line);
    log->sink(log->context, buf_str(&line));
}

void log_to_descriptor(void *context, struct str line)
{
    const int *descriptor = context;
    while (line.len > 0) {
        ssize_t put = write(*descriptor, line.ptr, line.len);
        if (put < 0 && errno != EINTR) {
            return;
        }
        line = put < 0 ? line : str_sub(line, (size_t)put, line.len);
    }
}
