/*
 * secret_book.h: the secrets of one fetch of credentials, told to redact.h until the next but one
 * has them: what renews its keys every hour for months must not keep all of them.
 */
#pragma once

#include "base/arena.h"
#include "io/redact.h"

struct secret_book {
    struct arena arena;
    struct str *items;
    size_t count, capacity;
};

void secret_book_init(struct secret_book *book);

/* `redact` may be NULL everywhere: nobody is told. */
void secret_book_add(struct secret_book *book, struct redact *redact, struct str secret);

/* From now on they may be seen. Wipes; the book may be used again. */
void secret_book_clear(struct secret_book *book, struct redact *redact);
