/*
 * secret_registry.h: the secrets of one credentials fetch, registered with redact.h until the fetch
 * after the next: a process that refreshes its keys every hour for months must not keep all of
 * them.
 */
#pragma once

#include "base/arena.h"
#include "io/redact.h"

struct secret_registry {
    struct arena arena;
    struct str *items;
    size_t count, capacity;
};

void secret_registry_init(struct secret_registry *book);

/* `redact` may be NULL in all functions: nothing is registered then. */
void secret_registry_add(struct secret_registry *book, struct redact *redact, struct str secret);

/* Unregisters and erases the secrets. The registry can be used again. */
void secret_registry_clear(struct secret_registry *book, struct redact *redact);
