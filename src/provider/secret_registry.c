/* secret_registry.c: keeps copies, so that each secret can be dropped again. */
#include "provider/secret_registry.h"

void secret_registry_init(struct secret_registry *book)
{
    *book = (struct secret_registry){.count = 0};
    arena_init_secret(&book->arena);
}

void secret_registry_add(struct secret_registry *book, struct redact *redact, struct str secret)
{
    if (!redact || secret.len == 0) {
        return;
    }
    ARENA_GROW(&book->arena, book->items, book->count, book->capacity);
    book->items[book->count] = arena_str(&book->arena, secret);
    redact_add(redact, book->items[book->count++]);
}

void secret_registry_clear(struct secret_registry *book, struct redact *redact)
{
    for (size_t i = 0; redact && i < book->count; i++) {
        redact_drop(redact, book->items[i]);
    }
    arena_clear(&book->arena);
    book->items = NULL;
    book->count = book->capacity = 0;
}
