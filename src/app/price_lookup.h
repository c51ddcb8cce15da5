/*
 * price_lookup.h: finds prices in order of precedence: the cluster file, the cache of recent cloud
 * prices, the cloud, and the built-in catalog if it is for that region. Otherwise they are
 * unknown.
 */
#pragma once

#include "app/price_source.h"
#include "base/err.h"
#include "config/document/value.h"
#include "io/loop.h"
#include "provider/aws/client/aws_client.h"
#include "provider/price.h"

struct price_lookup;

/* Pointers must stay valid during the lookup; strings are copied. */
struct price_lookup_setup {
    struct aws_client *client;
    struct loop *loop;
    const struct value *written; /* metadata.shoal.prices; NULL if absent */
    struct str account;          /* owner of the zone names; if empty, spot prices are not cached */
    struct str cache_folder;     /* empty: no cache */
    struct str endpoint;         /* the user's endpoint in place of AWS; usually empty */
};

struct price_lookup_answer {
    const struct price_known *prices; /* one price per query */
    size_t count;
    size_t asked_count; /* how many queries were sent to the cloud */
    struct err trouble; /* the first error of these queries, or ERR_NONE */
    struct err unkept;  /* why the cache could not be written, or ERR_NONE */
};

typedef void price_lookup_fn(void *context, const struct price_lookup_answer *answer);

/* Calls `done` exactly once, from the loop. */
struct price_lookup *price_lookup_start(const struct price_lookup_setup *setup,
                                        const struct price_query *queries, size_t count,
                                        price_lookup_fn *done, void *context);

/* `done` is not called afterwards. */
void price_lookup_cancel(struct price_lookup *lookup);

/* "${XDG_CACHE_HOME:-~/.cache}/shoal"; empty if neither is set. */
struct str price_cache_folder(aws_environ env, struct arena *arena);
