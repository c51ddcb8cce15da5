/*
 * hourly_price.h: what an instance costs per hour; the only place where a price is put together.
 *
 * A price is that of the instance, of its disks and of its public IPv4 address, in the region where
 * it runs. If a part is unknown, the price is unknown: nothing is guessed, and nothing is free. A
 * price that the user wrote is that of the whole instance. Everything that shows or limits prices
 * (`plan`, `up`, `status`, `ls`, metrics, max_hourly_cost) calls hourly_price().
 */
#pragma once

#include "app/price_source.h"
#include "base/arena.h"
#include "base/buf.h"
#include "config/config.h"
#include "config/workload/workload_file.h"
#include "provider/price.h"

#include <stdbool.h>
#include <stddef.h>

/* Prices of the parts: one for each query. */
struct price_table {
    struct price_query *queries;
    struct price_known *prices;
    size_t count;
};

struct price_book {
    struct price_table table;
    const struct value *written;          /* metadata.shoal.prices; NULL if absent */
    const struct workload_file *workload; /* of a simulation: its assumptions; else NULL */
    struct str region;
    struct str disks; /* by node type (type_disks_ask() in type_zones.h) */
    bool is_listed;   /* the cloud has a price list: it is AWS */
};

struct price_subject {
    struct str type;    /* node type; empty: unknown */
    struct str machine; /* instance type; empty: stopped, so only its disks cost */
    struct str zone;    /* of a spot instance */
    bool is_spot;
    struct str disks; /* "gp3 30 ipv4 1"; empty: those of its node type */
};

/* Attached disks and a public IPv4 address cost this much more, in the form above. */
#define PRICE_NO_DISKS "none 0"

struct price_known hourly_price(const struct price_book *book, const struct price_subject *subject);

/* ---- the table ---- */

struct price_known price_table_find(const struct price_table *table,
                                    const struct price_query *query);
/* Adds the price, or replaces that of the same query. Strings are not copied. */
void price_table_put(struct price_table *table, const struct price_query *query,
                     struct price_known price, struct arena *arena);

/* As lines of text, for the journal and the handover; only known prices. */
void price_table_write(const struct price_table *table, struct buf *out);
/* Skips lines that it does not understand. */
void price_table_read(struct str text, struct str region, struct arena *arena,
                      struct price_table *ret_table);

/* ---- questions ---- */

/* What must be known to price the node types of a file; the zones of spot instances are those of
 * the file, or all of the region. */
void price_queries_of(const struct config *config, struct str region, struct arena *arena,
                      struct price_table *ret_questions);
