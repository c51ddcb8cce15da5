/*
 * verb.h: what a verb is.
 *
 * A verb is one file verb_NAME.c that defines `const struct verb verb_NAME`, and one row in
 * verbs.def. The parser, --help, the manual pages and the shells' completion are all made from the
 * struct, so they cannot disagree. A dash in a name is an underscore in the file's and the row's.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_UNFLAG,  /* bool: takes back the flag of the same field */
    OPTION_COUNT,   /* unsigned: how often it was given */
    OPTION_TEXT,    /* const char * */
    OPTION_FILE,    /* the same; shells complete the names of files */
    OPTION_NUMBER,  /* int64_t */
    OPTION_NUMBERS, /* struct option_numbers: may be given several times */
    OPTION_CHOICE,  /* const char *, one of `choices` */
};

enum { OPTION_NUMBERS_MAX = 32 };

struct option_numbers {
    int64_t items[OPTION_NUMBERS_MAX];
    size_t count; /* 0: it was not given */
};

struct option {
    const char *name; /* without the dashes */
    char letter;      /* 0: no short form */
    enum option_kind kind;
    size_t offset;        /* of the field in the verb's own struct */
    const char *argument; /* "FORMAT"; NULL for flags */
    const char *const *choices;
    const char *help;
    bool is_hidden; /* understood, not told of */
};

enum operand_complete { COMPLETE_FILE, COMPLETE_VERB, COMPLETE_CHOICE, COMPLETE_NOTHING };

/* All the words that no other operand took. */
struct operand_rest {
    const char **words; /* room for all words of the command line */
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
    bool is_rest; /* the last one only */
};

struct example {
    const char *command;
    const char *says;
};

/* What every verb is given: where to write, and whether to colour it. */
struct cli {
    FILE *out;
    FILE *err;
    bool colour_out;
    bool colour_err;
    struct arena *arena; /* lives as long as the command */
};

struct verb {
    const char *name;
    const char *alias;       /* another name that is understood; NULL: none */
    const char *summary;     /* one line, no full stop */
    const char *description; /* paragraphs for the manual, separated by blank lines */
    const struct operand *operands;
    size_t operand_count;
    const struct option *options;
    size_t option_count;
    const struct example *examples;
    size_t example_count;
    const char *exit_status; /* when it differs from "0 on success, 1 on failure, 2 for usage" */
    size_t fields_size;      /* of the struct the offsets refer to */
    int (*run)(const struct cli *cli, const void *fields);
};

/* All verbs that people use, in the order of verbs.def. Those that only this program itself uses on
 * other machines are found by name, and told of nowhere. */
extern const struct verb *const all_verbs[];
extern const size_t verb_count;

/* By name or alias; NULL when there is none. */
const struct verb *verb_find(const char *name);

/* Options that every verb has, behind its own; their offsets are in this struct. */
struct common_fields {
    bool help;
    const char *colour;
};
extern const struct option common_options[];
extern const size_t common_option_count;

/* -o of verbs that have two forms of output. */
extern const char *const text_or_json[];
