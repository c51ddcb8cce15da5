/*
 * page.h: the frame of an HTML page that needs no other file: light and dark, wide and narrow.
 */
#pragma once

#include "base/buf.h"

/* Escapes text for HTML and its attributes. */
void html_add(struct buf *out, struct str text);

/* Up to <main>, with the style; `title` is escaped. And from </main>. */
void page_begin(struct buf *out, struct str title);
void page_end(struct buf *out);
