/*
 * verb.h: defines a verb, that is a subcommand.
 *
 * A verb is one file verb_NAME.c that defines `const struct verb verb_NAME`, and one row in
 * verbs.def. The parser, --help, the manual pages and shell completion are all generated from the
 * struct, so they cannot disagree. A dash in a name is an underscore in the file and the row.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_UNFLAG,  /* bool: clears the flag of the same field */
    OPTION_COUNT,   /* unsigned: how often it was given */
    OPTION_TEXT,    /* const char * */
    OPTION_FILE,    /* like OPTION_TEXT, but shells complete file names */
    OPTION_NUMBER,  /* int64_t */
    OPTION_NUMBERS, /* struct option_numbers: may be repeated */
    OPTION_CHOICE,  /* const char *, one of `choices` */
};

enum { OPTION_NUMBERS_MAX = 32 };

struct option_numbers {
    int64_t items[OPTION_NUMBERS_MAX];
    size_t count; /* 0: not given */
};

struct option {
    const char *name; /* name without the dashes */
    char letter;      /* 0: no short form */
    enum option_kind kind;
    size_t offset;        /* offset of the field in the verb's struct */
    const char *argument; /* "FORMAT"; NULL for flags */
    const char *const *choices;
    const char *help;
    bool is_hidden; /* accepted but not documented */
};

enum operand_complete {
    COMPLETE_FILE,
    COMPLETE_CLUSTER, /* a cluster file, or the name of a cluster */
    COMPLETE_VERB,
    COMPLETE_CHOICE,
    COMPLETE_NOTHING,
};

/* All arguments that no other operand took. */
struct operand_rest {
    const char **words; /* has room for all arguments */
    size_t count;
};

/* A positional argument; the field is a const char *, or a struct operand_rest. */
struct operand {
    const char *name;
    size_t offset;
    bool is_optional;
    enum operand_complete complete;
    const char *const *choices; /* for COMPLETE_CHOICE */
    const char *help;
    bool is_rest; /* only for the last operand */
    /* Only for the first operand: returns its default if it was left out, or NULL if `word` is the
     * operand. `word` is NULL if no word was given; `is_short` means that fewer words were given
     * than the verb needs. */
    const char *(*fallback)(const char *word, bool is_short);
};

struct example {
    const char *command;
    const char *says;
};

/* The outcome of a command, for its JSON. */
struct cli_end {
    bool has_output; /* a whole text was written to standard output */
    struct err err;  /* the last error that was printed; ERR_NONE: none */
};

/* Output streams and settings for every verb. */
struct cli {
    FILE *out;
    FILE *err;
    bool colour_out;
    bool colour_err;
    struct arena *arena; /* valid until the command ends */
    struct cli_end *end; /* NULL if it is not used */
};

struct verb {
    const char *name;        /* "train"; of a sub-command: "train ls" */
    const char *alias;       /* alternative name; NULL: none */
    const char *summary;     /* one line, no period */
    const char *description; /* paragraphs for the manual, separated by blank lines */
    const struct operand *operands;
    size_t operand_count;
    const struct option *options;
    size_t option_count;
    const struct example *examples;
    size_t example_count;
    const char *exit_status; /* used if it differs from "0 on success, 1 on failure, 2 for usage" */
    size_t fields_size;      /* size of the struct that the offsets refer to */
    int (*run)(const struct cli *cli, const void *fields);
    const struct verb *const *parts; /* its sub-commands; NULL: none */
    size_t part_count;
};

/* In the table of a verb: VERB_ROWS(option) sets `options` and `option_count` from the array
 * `options`. */
#define VERB_ROWS(kind) .kind##s = kind##s, .kind##_count = ARRAY_LEN(kind##s)

/* All documented verbs, in the order of verbs.def. Hidden verbs, which Shoal runs on other
 * machines, are found only by verb_find(). */
extern const struct verb *const all_verbs[];
extern const size_t verb_count;

/* What a verb is for; `shoal help` has a heading for each. verb_groups[i] is that of all_verbs[i].
 */
enum verb_group {
    VERB_BEFORE,
    VERB_RUN,
    VERB_WATCH,
    VERB_FINISH,
    VERB_OTHER,
    VERB_GROUP_COUNT,
};
extern const enum verb_group verb_groups[];
extern const char *const verb_group_titles[VERB_GROUP_COUNT];

/* By name or alias; NULL if there is none. */
const struct verb *verb_find(const char *name);
/* The sub-command that the word after the verb names; NULL if there is none. */
const struct verb *verb_find_part(const struct verb *verb, const char *word);
/* "ls" of "train ls". */
const char *verb_part_word(const struct verb *part);

/* Options that every verb has, after its own; their offsets are in this struct. */
struct common_fields {
    bool help;
    const char *colour;
};
extern const struct option common_options[];
extern const size_t common_option_count;

/* -o of verbs with text and JSON output. */
extern const char *const text_or_json[];
