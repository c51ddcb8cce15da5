/*
 * schema.h: the table of all keys of a cluster file, and of a workload file.
 *
 * The table validates files, suggests corrections, and is printed as the manual page and the
 * reference in docs/, so every key is documented. The rules are those of Ray's JSON schema.
 * Additional rules are warnings, never errors, so that we accept exactly the files that Ray
 * accepts.
 */
#pragma once

#include "config/document/diag.h"
#include "config/document/value.h"

#include <stdbool.h>
#include <stddef.h>

/* JSON-schema types. As in jsonschema, 2.0 is an integer and true is not a number. */
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

/* The providers that use a key. 0 in the table means all. */
enum schema_provider {
    FOR_AWS = 1 << 0,
    FOR_GCP = 1 << 1,
    FOR_AZURE = 1 << 2,
    FOR_VSPHERE = 1 << 3,
    FOR_LOCAL = 1 << 4,
    FOR_EXTERNAL = 1 << 5,
    FOR_OTHER = 1 << 6, /* spark, readonly, kuberay: accepted, but not supported by Shoal */
};

enum schema_flag {
    SCHEMA_REQUIRED = 1 << 0,
    SCHEMA_NOT_NEGATIVE = 1 << 1,
    SCHEMA_SECRET = 1 << 2,   /* masked by `shoal config` */
    SCHEMA_INTERNAL = 1 << 3, /* written by launchers, not by users */
};

struct schema_key {
    const char *name;                   /* "*": any name */
    unsigned types;                     /* enum schema_type */
    unsigned item_types;                /* types of an array's items; 0: any */
    unsigned flags;                     /* enum schema_flag */
    unsigned readers;                   /* enum schema_provider; 0: all */
    const struct schema_object *object; /* type of the value or of its items; NULL: any */
    const char *const *choices;         /* allowed strings, ends with NULL */
    const char *fallback;               /* the default as text; NULL: none */
    const char *help;
    const char *example; /* YAML, one or more lines of at most 65 columns */
};

enum schema_extra {
    SCHEMA_EXTRA_ERROR, /* other keys are errors, as in Ray */
    SCHEMA_EXTRA_WARN,  /* Ray ignores other keys; we warn */
    SCHEMA_EXTRA_OK,    /* other keys are allowed */
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

/* The workload file of `shoal simulate`. */
extern const struct schema_object schema_workload;

/* The bit of a provider.type; FOR_OTHER for those that only Ray supports, 0 if unknown. */
unsigned schema_provider_bit(struct str provider_type);

/* Appends the names of the bits: "aws, azure, gcp". */
void schema_provider_names(struct buf *out, unsigned readers);

/* "a whole number or null": for messages and documentation. */
void schema_type_text(struct buf *out, unsigned types);

/* "integer|null": JSON-schema types. */
void schema_type_names(struct buf *out, unsigned types);

/*
 * Checks a prepared configuration and adds a finding for everything that Ray's schema would reject.
 * `fallback_place` is the position for missing keys.
 */
void schema_check(const struct value *root, struct diag_list *diags, struct place fallback_place);

/* The same for our own files, which Ray never reads. */
void schema_check_as(const struct schema_object *object, const struct value *root,
                     struct diag_list *diags);

/* Adds a warning for every key that is accepted but not used. */
void schema_check_unread(const struct value *root, struct diag_list *diags);
