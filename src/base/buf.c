/* buf.c: the growable byte buffer with a cap. */
#include "base/buf.h"

#include "base/memzero.h"
#include "base/panic.h"
#include "base/require.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t cap)
{
    memset(buf, 0, sizeof(*buf));
    buf->cap = cap;
}

void buf_clear(struct buf *buf)
{
    size_t cap = buf->cap;
    free(buf->ptr);
    buf_init(buf, cap);
}

void buf_wipe(struct buf *buf)
{
    if (buf->ptr) {
        memzero(buf->ptr, buf->capacity);
    }
    buf_clear(buf);
}

/* Makes room for `more` bytes and a NUL; false if that would exceed the cap. */
static bool reserve(struct buf *buf, size_t more)
{
    require(buf->len <= buf->cap, "the text is within its limit");
    require(buf->len < buf->capacity || buf->len == 0, "the text and its NUL fit");
    if (buf->is_full || more > buf->cap - buf->len) {
        buf->is_full = true;
        return false;
    }
    size_t need = buf->len + more + 1;
    if (need <= buf->capacity) {
        return true;
    }
    size_t capacity = buf->capacity * 2 > need ? buf->capacity * 2 : need;
    char *larger = realloc(buf->ptr, capacity < 64 ? 64 : capacity);
    if (!larger) {
        panic("out of memory (requested %zu bytes)", capacity);
    }
    buf->ptr = larger;
    buf->capacity = capacity < 64 ? 64 : capacity;
    return true;
}

void buf_add(struct buf *buf, struct str text)
{
    if (text.len == 0 || !reserve(buf, text.len)) {
        return;
    }
    memcpy(buf->ptr + buf->len, text.ptr, text.len);
    buf->len += text.len;
    buf->ptr[buf->len] = '\0';
}

void buf_add_c(struct buf *buf, const char *text)
{
    buf_add(buf, str_from(text));
}

void buf_add_char(struct buf *buf, char c)
{
    buf_add(buf, (struct str){&c, 1});
}

void buf_add_args(struct buf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    require(len >= 0, "the format is valid");
    if (!reserve(buf, (size_t)len)) {
        return;
    }
    vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, args);
    buf->len += (size_t)len;
}

void buf_addf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_add_args(buf, fmt, args);
    va_end(args);
}

void buf_add_spaces(struct buf *buf, size_t count)
{
    if (count > 0 && reserve(buf, count)) {
        memset(buf->ptr + buf->len, ' ', count);
        buf->len += count;
        buf->ptr[buf->len] = '\0';
    }
}
