/*
 * price_lookup.h: prices from whoever knows them best: the cluster file, then what the cloud said a
 * short while ago, then the cloud, then the built-in catalogue if it is of that region. What none
 * of them says is unknown.
 */
#pragma once

#include "app/price_source.h"
#include "base/err.h"
#include "config/document/value.h"
#include "io/loop.h"
#include "provider/aws/client/aws_client.h"
#include "provider/price.h"

struct price_lookup;

/* What is pointed to must outlive the lookup; texts are copied. */
struct price_lookup_setup {
    struct aws_client *client;
    struct loop *loop;
    const struct value *written; /* metadata.shoal.prices; NULL: none */
    struct str account;          /* whose names of zones; empty: spot prices are not kept */
    struct str cache_folder;     /* empty: nothing is kept */
    struct str endpoint;         /* where the user sends calls instead of to AWS; often empty */
};

struct price_lookup_answer {
    const struct price_known *prices; /* for each wish */
    size_t count;
    size_t asked_count; /* of them, what the cloud was asked for */
    struct err trouble; /* the first thing that went wrong with asking; ERR_NONE: nothing did */
    struct err unkept;  /* why the cache could not be written; ERR_NONE: it could */
};

typedef void price_lookup_fn(void *context, const struct price_lookup_answer *answer);

/* `done` is called exactly once, from the loop. */
struct price_lookup *price_lookup_start(const struct price_lookup_setup *setup,
                                        const struct price_wish *wishes, size_t count,
                                        price_lookup_fn *done, void *context);

/* No callback is called any more. */
void price_lookup_cancel(struct price_lookup *lookup);

/* "${XDG_CACHE_HOME:-~/.cache}/shoal"; empty when neither is known. */
struct str price_cache_folder(aws_environ env, struct arena *arena);

/* What can be said without asking: the cluster file's price, else the catalogue's. */
struct price_known price_written(const struct value *written, const struct price_wish *wish);
struct price_known price_built_in(const struct price_wish *wish);
