/* err.c: sets and wraps errors. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_write(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err->kind = kind;
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
}

void err_prepend(struct err *err, const char *fmt, ...)
{
    char inner[sizeof(err->text)];
    char context[sizeof(err->text)];
    va_list args;
    snprintf(inner, sizeof(inner), "%s", err->text);
    va_start(args, fmt);
    vsnprintf(context, sizeof(context), fmt, args);
    va_end(args);
    /* Truncates a long context, because the cause matters more. */
    size_t room = sizeof(err->text) - 3;
    size_t cause = strlen(inner) < room - 100 ? strlen(inner) : room - 100;
    snprintf(err->text, sizeof(err->text), "%.*s: %.*s", (int)(room - cause), context, (int)cause,
             inner);
}

const char *err_kind_name(enum err_kind kind)
{
    static const char *const names[ERR_KIND_COUNT] = {
        [ERR_NONE] = "none",
        [ERR_USAGE] = "usage",
        [ERR_CONFIG] = "config",
        [ERR_AUTH] = "auth",
        [ERR_NOT_FOUND] = "not-found",
        [ERR_EXISTS] = "exists",
        [ERR_THROTTLED] = "throttled",
        [ERR_CAPACITY] = "capacity",
        [ERR_QUOTA] = "quota",
        [ERR_TIMEOUT] = "timeout",
        [ERR_UNAVAILABLE] = "unavailable",
        [ERR_PROTOCOL] = "protocol",
        [ERR_CANCELLED] = "cancelled",
        [ERR_IO] = "io",
        [ERR_INTERNAL] = "internal",
    };
    return names[kind];
}

int err_exit_status(enum err_kind kind)
{
    if (kind == ERR_NONE) {
        return 0;
    }
    return kind == ERR_USAGE ? 2 : 1;
}
