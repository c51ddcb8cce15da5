/* fuzz_log.c: the first line is a secret, the rest a message: whatever both are, the record is one
 * clean line and the secret is not in it. */
#include "fuzz.h"

#include "base/utf8.h"
#include "io/log.h"

#include <string.h>

static int64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static const struct clock stopped = {no_time, no_time, NULL};

/* No control byte but the newline at the end, and all of it UTF-8. */
static void check_line(struct str line)
{
    if (line.len == 0 || line.ptr[line.len - 1] != '\n' || !utf8_is_valid(line)) {
        fuzz_fail("a record is a line of UTF-8", line);
    }
    for (size_t i = 0; i + 1 < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if (c < ' ' || c == 127) {
            fuzz_fail("a record has no control bytes", line);
        }
    }
}

static bool holds(struct str text, struct str part)
{
    return part.len > 0 && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

/* The mask itself must not be taken for the secret, so one with asterisks in it is not judged. */
static bool is_judged(struct str secret)
{
    return secret.len >= REDACT_BYTES_MIN && str_find_char(secret, '*') == SIZE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str message = {(const char *)data, size};
    struct str secret = str_cut(&message, '\n');
    struct redact *redact = redact_new();
    struct log log = {&stopped, redact, LOG_LEVEL_DEBUG, NULL, NULL};
    AUTO_BUF struct buf clean;
    AUTO_BUF struct buf line;
    buf_init(&clean, size * 10 + 1000);
    buf_init(&line, LOG_RECORD_MAX + 200);
    redact_add(redact, secret);
    redact_clean(redact, message, &clean);
    if (is_judged(secret) && holds(buf_str(&clean), secret)) {
        fuzz_fail("a registered secret does not pass", buf_str(&clean));
    }
    if (clean.is_full) {
        fuzz_fail("hiding makes a text nine times as long at most", message);
    }
    log_format(&log, LOG_LEVEL_INFO, message, &line);
    check_line(buf_str(&line));
    redact_free(redact);
    return 0;
}
