/* verb_version.c: which shoal this is. */
#include "cli/output.h"
#include "config/catalog/catalog.h"

#include <string.h>

/* The newest Ray the tests were run against. */
#define RAY_TESTED "2.60.0"

struct version_fields {
    const char *output;
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct version_fields, output), "FORMAT", text_or_json,
     "text (the default) or json."},
};

static int run(const struct cli *cli, const void *fields)
{
    const struct version_fields *given = fields;
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (given->output && strcmp(given->output, "json") == 0) {
        buf_addf(&out, "{\"version\": \"%s\", \"ray\": \"%s\", \"catalogue\": \"%.*s\"}\n",
                 SHOAL_VERSION, RAY_TESTED, STR_ARG(catalog_ec2_date()));
    } else {
        buf_addf(&out, "shoal %s (tested with Ray %s; machine types of %.*s)\n", SHOAL_VERSION,
                 RAY_TESTED, STR_ARG(catalog_ec2_date()));
    }
    return output_write(cli, cli->out, &out);
}

const struct verb verb_version = {
    .name = "version",
    .summary = "print the version of shoal",
    .description = "Prints the version of shoal, the newest Ray it was tested with, and the date "
                   "of its catalogue of machine types.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .fields_size = sizeof(struct version_fields),
    .run = run,
};
