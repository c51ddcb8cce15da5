/* verb_version.c: prints the version. */
#include "cli/build_info.h"
#include "cli/output.h"
#include "config/catalog/catalog.h"

#include <string.h>

/* The newest tested Ray version. */
#define RAY_TESTED "2.60.0"

struct version_fields {
    const char *output;
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct version_fields, output), "FORMAT", text_or_json,
     "text (the default) or json."},
};

static const struct example examples[] = {
    {"shoal version -o json", "Print the version as JSON, for use in scripts."},
};

static int verb_version_run(const struct cli *cli, const void *fields)
{
    const struct version_fields *given = fields;
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (given->output && strcmp(given->output, "json") == 0) {
        buf_addf(&out,
                 "{\"version\": \"%s\", \"ray\": \"%s\", \"catalog\": \"%.*s\", "
                 "\"commit\": \"%s\", \"build\": %s, \"libraries\": %s}\n",
                 SHOAL_VERSION, RAY_TESTED, STR_ARG(catalog_ec2_date()), build_commit, build_flags,
                 build_libraries);
    } else {
        buf_addf(&out, "shoal %s (tested with Ray %s; instance types of %.*s)\n", SHOAL_VERSION,
                 RAY_TESTED, STR_ARG(catalog_ec2_date()));
    }
    return output_write(cli, cli->out, &out);
}

const struct verb verb_version = {
    .name = "version",
    .summary = "print the version of shoal",
    .description = "Prints the version of shoal, the newest Ray it was tested with, and the date "
                   "of its instance type catalog. With -o json also the commit, the compiler and "
                   "the versions of the libraries.",
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct version_fields),
    .run = verb_version_run,
};
