/* main.c: find the verb, read its arguments, run it. */
#include "base/suggest.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/output.h"

#include <signal.h>
#include <string.h>

/* Verbs of Ray's launcher, and ours to come: known, but not in this release. */
static bool is_verb_to_come(const char *name)
{
    static const char *const names[] = {
        "train", "plan", "explain", "top", "gc",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int unknown_verb(const struct cli *cli, const char *name)
{
    struct err err;
    struct suggest suggest;
    suggest_start(&suggest, str_from(name));
    for (size_t i = 0; i < verb_count; i++) {
        suggest_offer(&suggest, str_from(all_verbs[i]->name));
    }
    struct str best = suggest_best(&suggest);
    if (name[0] == '-') {
        err_set(&err, ERR_USAGE, "unknown option %.100s; options stand behind the verb", name);
    } else if (is_verb_to_come(name)) {
        err_set(&err, ERR_USAGE,
                "shoal " SHOAL_VERSION " has no \"%s\" yet; `shoal help` lists what there is",
                name);
    } else if (best.len > 0) {
        err_set(&err, ERR_USAGE, "there is no verb \"%.100s\"; did you mean \"%.*s\"?", name,
                STR_ARG(best));
    } else {
        err_set(&err, ERR_USAGE, "there is no verb \"%.100s\"; `shoal help` lists them", name);
    }
    return output_error(cli, &err);
}

static int usage_error(const struct cli *cli, const struct verb *verb, const struct err *err)
{
    AUTO_BUF struct buf usage;
    buf_init(&usage, 1024);
    help_usage(&usage, verb);
    int status = output_error(cli, err);
    fprintf(cli->err, "usage: %s\n`shoal help %s` explains it.\n", usage.ptr, verb->name);
    return status;
}

static int run_verb(struct cli *cli, const struct verb *verb, int count, char **words)
{
    AUTO_BUF struct buf help;
    struct err err;
    struct common_fields common = {0};
    void *fields = arena_alloc(cli->arena, verb->fields_size);
    buf_init(&help, OUTPUT_BYTES_MAX);
    bool ok = args_parse(verb, count, words, cli->arena, fields, &common, &err);
    cli->colour_out = output_wants_colour(stdout, common.colour);
    cli->colour_err = output_wants_colour(stderr, common.colour);
    if (!ok) {
        return usage_error(cli, verb, &err);
    }
    if (common.help) {
        help_verb(&help, verb);
        return output_write(cli, cli->out, &help);
    }
    return verb->run(cli, fields);
}

/* `shoal`, `shoal --help` and `shoal --version` are verbs in disguise. */
static const char *verb_name(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return "help";
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        return "version";
    }
    return argv[1];
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct cli cli = {.out = stdout, .err = stderr, .arena = &arena};
    /* A reader that goes away (head, less) is an error of write, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    arena_init(&arena);
    const char *name = verb_name(argc, argv);
    const struct verb *verb = verb_find(name);
    cli.colour_err = output_wants_colour(stderr, NULL);
    int status = verb ? run_verb(&cli, verb, argc > 2 ? argc - 2 : 0, argv + (argc > 2 ? 2 : argc))
                      : unknown_verb(&cli, name);
    arena_clear(&arena);
    return argc < 2 && status == 0 ? 2 : status;
}
