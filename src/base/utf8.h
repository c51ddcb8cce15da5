/* utf8.h: reading and writing single code points, strictly (no surrogates, no overlong forms). */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

#define UTF8_BAD UINT32_MAX

/*
 * The code point at the start of `text` and its length in bytes. For bytes that are not UTF-8
 * returns UTF8_BAD and length 1. `text` must not be empty.
 */
uint32_t utf8_decode(struct str text, size_t *ret_len);

void utf8_add(struct buf *buf, uint32_t code_point);

bool utf8_is_valid(struct str text);

/* Number of code points; a bad byte counts as one. */
size_t utf8_count(struct str text);

/* Control characters and bad bytes would play tricks with a terminal: they become '?', tabs one
 * blank. Line ends stay when `keep_lines`. */
void utf8_add_visible(struct buf *buf, struct str text, bool keep_lines);

/* Columns on a terminal: wide East Asian and emoji count two, combining marks none. */
size_t utf8_width(struct str text);
