/* verb_help.c: prints help about shoal, a verb, or a key of the cluster file. */
#include "cli/help.h"
#include "cli/output.h"

struct help_fields {
    const char *topic, *part;
    const char *word;
    bool keys;
};

static const struct operand operands[] = {
    {"TOPIC", offsetof(struct help_fields, topic), true, COMPLETE_VERB, NULL,
     "A command, or a key of the cluster file. Any other word is searched for."},
    {"COMMAND", offsetof(struct help_fields, part), true, COMPLETE_NOTHING, NULL,
     "A command of that command, such as ls of train."},
};

static const struct option options[] = {
    {"search", 'k', OPTION_TEXT, offsetof(struct help_fields, word), "WORD", NULL,
     "List the commands, options and keys that mention a word that starts with WORD."},
    {"keys", 0, OPTION_FLAG, offsetof(struct help_fields, keys), NULL, NULL,
     "List every key of the cluster file with its types, in machine-readable form."},
};

static const struct example examples[] = {
    {"shoal help validate", "Explain a command."},
    {"shoal help idle_timeout_minutes", "Explain a key of the cluster file."},
    {"shoal help -k spot", "List everything that mentions spot instances."},
};

static int unknown_topic(const struct cli *cli, const char *topic)
{
    struct err err;
    struct str best = help_nearest(cli->arena, str_from(topic));
    err_set(&err, ERR_USAGE,
            "\"%.100s\" is neither a command nor a key of the cluster file%s%.*s%s", topic,
            best.len > 0 ? "; did you mean \"" : "", STR_ARG(best), best.len > 0 ? "\"?" : "");
    return output_error(cli, &err);
}

static int unknown_part(const struct cli *cli, const struct help_fields *given)
{
    struct err err;
    err_set(&err, ERR_USAGE, "\"%.100s\" is one argument too many: %.100s has no such command",
            given->part, given->topic);
    return output_error(cli, &err);
}

static int no_match(const struct cli *cli, const char *word)
{
    struct err err;
    err_set(&err, ERR_USAGE,
            "nothing mentions \"%.100s\"; search for one word of at least two letters", word);
    return output_error(cli, &err);
}

/* A word that names no command and no key, but that their texts have. */
static bool add_mentions(struct buf *out, const char *topic)
{
    AUTO_BUF struct buf found;
    buf_init(&found, OUTPUT_BYTES_MAX);
    if (help_search(&found, str_from(topic), true) == 0) {
        return false;
    }
    const char *synonym = help_synonym(str_from(topic));
    if (synonym) {
        buf_addf(out, "The command for \"%s\" is shoal %s. ", topic, synonym);
    }
    buf_addf(out, "%s \"%s\" here:\n\n", synonym ? "Shoal also mentions" : "Shoal mentions", topic);
    buf_add(out, buf_str(&found));
    return true;
}

static int verb_help_run(const struct cli *cli, const void *fields)
{
    const struct help_fields *given = fields;
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (given->keys) {
        help_keys(&out);
    } else if (given->word) {
        if (help_search(&out, str_from(given->word), false) == 0) {
            return no_match(cli, given->word);
        }
    } else if (!given->topic) {
        help_program(&out);
    } else if (given->part) {
        const struct verb *verb = verb_find(given->topic);
        const struct verb *part = verb ? verb_find_part(verb, given->part) : NULL;
        if (!part) {
            return unknown_part(cli, given);
        }
        help_verb(&out, part);
    } else if (verb_find(given->topic)) {
        help_verb(&out, verb_find(given->topic));
    } else if (!help_key(&out, str_from(given->topic)) && !add_mentions(&out, given->topic)) {
        return unknown_topic(cli, given->topic);
    }
    return output_write(cli, cli->out, &out);
}

const struct verb verb_help = {
    .name = "help",
    .summary = "explain a command or a key of the cluster file",
    .description = "Without a topic, it lists the commands. For a command, it shows the options "
                   "and examples; for a key of the cluster file, such as max_workers or "
                   "provider.region, the meaning, type, default and an example. For any other "
                   "word, it lists everything that mentions the word.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct help_fields),
    .run = verb_help_run,
};
