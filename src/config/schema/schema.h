/*
 * schema.h: every key a cluster file may have, as one table; and those of the workload file.
 *
 * The table validates, names what was meant, and is printed as the manual page and the reference
 * in docs/: a key that is not here does not exist, and a key that is here is documented.
 * The rules are those of Ray's own JSON schema; where Ray's schema is silent ours adds warnings,
 * never errors, so that the verdict stays Ray's.
 */
#pragma once

#include "config/document/diag.h"
#include "config/document/value.h"

#include <stdbool.h>
#include <stddef.h>

/* JSON-schema words. An integer may be written 2.0, and true is not a number, as in jsonschema. */
enum schema_type {
    SCHEMA_STRING = 1 << 0,
    SCHEMA_INTEGER = 1 << 1,
    SCHEMA_NUMBER = 1 << 2,
    SCHEMA_BOOLEAN = 1 << 3,
    SCHEMA_OBJECT = 1 << 4,
    SCHEMA_ARRAY = 1 << 5,
    SCHEMA_NULL = 1 << 6,
    SCHEMA_ANY = 1 << 7,
};
enum { SCHEMA_TYPE_COUNT = 8 };

/* Which providers read a key. 0 in the table means all of them. */
enum schema_provider {
    FOR_AWS = 1 << 0,
    FOR_GCP = 1 << 1,
    FOR_AZURE = 1 << 2,
    FOR_VSPHERE = 1 << 3,
    FOR_LOCAL = 1 << 4,
    FOR_EXTERNAL = 1 << 5,
    FOR_OTHER = 1 << 6, /* spark, readonly, kuberay: accepted, not run by shoal */
};

enum schema_flag {
    SCHEMA_REQUIRED = 1 << 0,
    SCHEMA_NOT_NEGATIVE = 1 << 1,
    SCHEMA_SECRET = 1 << 2,   /* masked by `shoal config` */
    SCHEMA_INTERNAL = 1 << 3, /* written by launchers, not by people */
};

struct schema_key {
    const char *name;                   /* "*" stands for any name */
    unsigned types;                     /* enum schema_type */
    unsigned item_types;                /* of an array's items; 0: anything */
    unsigned flags;                     /* enum schema_flag */
    unsigned readers;                   /* enum schema_provider; 0: all */
    const struct schema_object *object; /* what is inside it, or inside its items; NULL: anything */
    const char *const *choices;         /* the allowed strings, NULL-terminated */
    const char *fallback;               /* the default, in words; NULL: none */
    const char *help;
    const char *example; /* YAML, one or more lines of at most 65 columns */
};

enum schema_extra {
    SCHEMA_EXTRA_ERROR, /* Ray rejects other keys */
    SCHEMA_EXTRA_WARN,  /* Ray ignores them; so do we, aloud */
    SCHEMA_EXTRA_OK,    /* other keys mean something to somebody else */
};

struct schema_object {
    const char *title; /* "provider", for messages and headings */
    const struct schema_key *keys;
    size_t count;
    enum schema_extra extra;
};

/* The whole file. */
extern const struct schema_object schema_root;
extern const struct schema_object schema_provider;
extern const struct schema_object schema_shoal;

/* Another file: what `shoal simulate` lets a cluster do. */
extern const struct schema_object schema_workload;

/* The bit of a provider.type; FOR_OTHER for those that only Ray runs, 0 for an unknown one. */
unsigned schema_provider_bit(struct str provider_type);

/* "aws, azure, gcp": the names of the bits, into `out`. */
void schema_provider_names(struct buf *out, unsigned readers);

/* "a whole number or null": for messages and documentation. */
void schema_type_words(struct buf *out, unsigned types);

/* "integer|null": JSON-schema words. */
void schema_type_names(struct buf *out, unsigned types);

/*
 * Checks a prepared configuration and adds a finding for everything that Ray's schema would
 * reject. `fallback_place` is blamed when something is missing altogether.
 */
void schema_check(const struct value *root, struct diag_list *diags, struct place fallback_place);

/* The same for a file of ours that Ray never sees. */
void schema_check_as(const struct schema_object *object, const struct value *root,
                     struct diag_list *diags);

/* Adds a warning for every key that Ray accepts and nobody reads. */
void schema_check_unread(const struct value *root, struct diag_list *diags);
