/* utf8.h: decodes and encodes UTF-8 strictly (no surrogates, no overlong forms). */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

#define UTF8_BAD UINT32_MAX

/*
 * The code point at the start of `text` and its length in bytes. Returns UTF8_BAD and length 1 for
 * invalid bytes. `text` must not be empty.
 */
uint32_t utf8_decode(struct str text, size_t *ret_len);

void utf8_add(struct buf *buf, uint32_t code_point);

bool utf8_is_valid(struct str text);

/* The number of code points; an invalid byte is counted as one. */
size_t utf8_count(struct str text);

/* Replaces control characters and invalid bytes, which could manipulate a terminal, with '?', and
 * tabs with a blank. Keeps newlines if `keep_lines`. */
void utf8_add_visible(struct buf *buf, struct str text, bool keep_lines);

/* The text without terminal escape sequences, such as colours: programs colour their output, but
 * logs are not only read on terminals. */
void utf8_add_unstyled(struct buf *buf, struct str text);

/* Width in terminal columns: wide East Asian characters and emoji are two, combining marks zero. */
size_t utf8_width(struct str text);
