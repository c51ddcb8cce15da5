/* verb_help.c: explain shoal, a verb, or a key of the cluster file. */
#include "cli/help.h"
#include "cli/output.h"

struct help_fields {
    const char *topic;
    bool keys;
};

static const struct operand operands[] = {
    {"TOPIC", offsetof(struct help_fields, topic), true, COMPLETE_VERB, NULL,
     "A verb, or a key of the cluster file."},
};

static const struct option options[] = {
    {"keys", 0, OPTION_FLAG, offsetof(struct help_fields, keys), NULL, NULL,
     "List every key of the cluster file with its types, for programs."},
};

static const struct example examples[] = {
    {"shoal help validate", "Explain a verb."},
    {"shoal help idle_timeout_minutes", "Explain a key."},
};

static int unknown_topic(const struct cli *cli, const char *topic)
{
    struct err err;
    struct str best = help_nearest(cli->arena, str_from(topic));
    err_set(&err, ERR_USAGE, "\"%.100s\" is neither a verb nor a key of the cluster file%s%.*s%s",
            topic, best.len > 0 ? "; did you mean \"" : "", STR_ARG(best),
            best.len > 0 ? "\"?" : "");
    return output_error(cli, &err);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct help_fields *given = fields;
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (given->keys) {
        help_keys(&out);
    } else if (!given->topic) {
        help_program(&out);
    } else if (verb_find(given->topic)) {
        help_verb(&out, verb_find(given->topic));
    } else if (!help_key(&out, str_from(given->topic))) {
        return unknown_topic(cli, given->topic);
    }
    return output_write(cli, cli->out, &out);
}

const struct verb verb_help = {
    .name = "help",
    .summary = "explain a verb, or a key of the cluster file",
    .description = "Without a topic: lists the verbs. With a verb: its options and examples. With "
                   "a key of the cluster file, such as max_workers or provider.region: what it "
                   "means, its type, its default and an example.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .fields_size = sizeof(struct help_fields),
    .run = run,
};
