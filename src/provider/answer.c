/* answer.c: sets the outcome and the error of an answer. */
#include "provider/answer.h"

#include "base/buf.h"

#include <stdarg.h>

enum { WHY_BYTES_MAX = 4096 };

void answer_write(struct provider_answer *answer, enum outcome outcome, enum err_kind kind,
                  const char *fmt, ...)
{
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, WHY_BYTES_MAX);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    answer->outcome = outcome;
    err_write(&answer->err, kind, "%.*s", STR_ARG(buf_str(&text)));
}
