/*
 * verb_node.c: what this program does on a node, called by Shoal itself and never by people; so it
 * is in no help. A row of `words` is all that another job there needs.
 */
#include "cli/output.h"
#include "remote/node_host_key.h"
#include "remote/node_serve.h"

#include <string.h>

struct node_fields {
    const char *word;
};

static const struct operand operands[] = {
    {"WORD", offsetof(struct node_fields, word), false, COMPLETE_NOTHING, NULL,
     "The job on this node."},
};

static int run_serve(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_serve();
}

/* Called by serve, as root. */
static int run_host_key(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_host_key_install();
}

static const struct {
    const char *name;
    int (*run)(const struct cli *cli, const struct node_fields *fields);
} words[] = {
    {"serve", run_serve},
    {"host-key", run_host_key},
};

static int run(const struct cli *cli, const void *given)
{
    const struct node_fields *fields = given;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(fields->word, words[i].name) == 0) {
            return words[i].run(cli, fields);
        }
    }
    err_set(&err, ERR_USAGE, "there is no job \"%.100s\" on a node", fields->word);
    return output_error(cli, &err);
}

const struct verb verb_node = {
    .name = "node",
    .summary = "work of Shoal's own on a node",
    .description = "Called by Shoal on the machines of a cluster.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .fields_size = sizeof(struct node_fields),
    .run = run,
};
