/*
 * buf.h: a byte buffer that grows up to a cap.
 *
 * A write that would exceed the cap is dropped and sets `is_full`, so the owner can check once at
 * the end instead of after every write. The content is always NUL-terminated.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *ptr;
    size_t len;
    size_t capacity;
    size_t cap; /* maximum length */
    bool is_full;
};

void buf_init(struct buf *buf, size_t cap);
void buf_clear(struct buf *buf); /* frees the memory; the buffer may be used again */
void buf_wipe(struct buf *buf);  /* the same, for secrets: overwrites the memory first */

void buf_add(struct buf *buf, struct str text);
void buf_add_c(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_add_args(struct buf *buf, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
void buf_add_spaces(struct buf *buf, size_t count);

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->ptr ? buf->ptr : "", buf->len};
}

/* Frees at the end of the scope: `AUTO_BUF struct buf out; buf_init(&out, cap);` */
#define AUTO_BUF __attribute__((cleanup(buf_clear)))
