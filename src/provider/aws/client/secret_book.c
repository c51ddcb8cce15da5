/* secret_book.c: copies, so that each can be taken back as it was given. */
#include "provider/aws/client/secret_book.h"

void secret_book_init(struct secret_book *book)
{
    *book = (struct secret_book){.count = 0};
    arena_init_secret(&book->arena);
}

void secret_book_add(struct secret_book *book, struct redact *redact, struct str secret)
{
    void *items = book->items;
    if (!redact || secret.len == 0) {
        return;
    }
    arena_grow(&book->arena, &items, book->count, &book->capacity, sizeof(struct str));
    book->items = items;
    book->items[book->count] = arena_str(&book->arena, secret);
    redact_add(redact, book->items[book->count++]);
}

void secret_book_clear(struct secret_book *book, struct redact *redact)
{
    for (size_t i = 0; redact && i < book->count; i++) {
        redact_drop(redact, book->items[i]);
    }
    arena_clear(&book->arena);
    book->items = NULL;
    book->count = book->capacity = 0;
}
