/* token_fetch.h: one fetch of a token: finds the source and asks the services it names. */
#pragma once

#include "provider/gcp/credentials/gcp_credentials.h"

struct secret_registry;
struct token_fetch;

/* What earlier fetches found out and need not be asked again. Texts may be empty. */
struct token_known {
    bool is_metadata;    /* the source is the metadata server */
    struct str project;  /* from a service */
    struct str universe; /* from the metadata server */
    /* A refresh token that replaces the one in the file. */
    struct str refresh_old, refresh_new;
    struct str file_token; /* the last one that was taken from a file as it is */
    bool is_file_token_rejected;
};

struct token_found {
    bool is_ok;
    struct gcp_access access; /* in the memory of the fetch */
    struct token_known known;
    struct secret_registry *book; /* registered secrets; the taker leaves an empty one */
    struct err err;               /* unless ok */
};

typedef void token_found_fn(void *context, const struct token_found *found);

/* `known` is copied. `done` is called once, later; the fetch is freed afterwards. */
struct token_fetch *token_fetch_start(const struct gcp_setup *setup,
                                      const struct token_known *known, token_found_fn *done,
                                      void *context);
/* By the maker's name in the machine's firmware. */
bool token_fetch_is_google_machine(const struct gcp_setup *setup);
void token_fetch_cancel(struct token_fetch *fetch); /* no more callbacks */
