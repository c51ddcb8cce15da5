/* main.c: finds the verb, parses its arguments and runs it. */
#include "app/program.h"
#include "base/suggest.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/json_object.h"
#include "cli/output.h"
#include "config/document/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The command that `name` was meant to be: another program's word for it, or the nearest name. */
static struct str meant_verb(const char *name)
{
    struct suggest suggest;
    const char *synonym = help_synonym(str_from(name));
    if (synonym) {
        return str_from(synonym);
    }
    suggest_start(&suggest, str_from(name));
    for (size_t i = 0; i < verb_count; i++) {
        suggest_offer(&suggest, str_from(all_verbs[i]->name));
    }
    return suggest_best(&suggest);
}

static bool is_cluster_file(const char *name)
{
    struct str text = str_from(name);
    return str_ends(text, ".yaml") || str_ends(text, ".yml");
}

static int unknown_verb(const struct cli *cli, const char *name)
{
    struct err err;
    struct str best = meant_verb(name);
    if (name[0] == '-') {
        err_set(&err, ERR_USAGE, "unknown option %.100s; options go after the command", name);
    } else if (is_cluster_file(name)) {
        err_set(&err, ERR_USAGE, "the command is missing; for example: shoal up %.100s", name);
    } else if (best.len > 0) {
        err_set(&err, ERR_USAGE, "unknown command \"%.100s\"; did you mean \"%.*s\"?", name,
                STR_ARG(best));
    } else {
        err_set(&err, ERR_USAGE, "unknown command \"%.100s\"; `shoal help` lists the commands",
                name);
    }
    return output_error(cli, &err);
}

static int usage_error(const struct cli *cli, const struct verb *verb, const struct err *err)
{
    AUTO_BUF struct buf usage;
    buf_init(&usage, 4096);
    buf_add_c(&usage, "usage: ");
    help_usage(&usage, verb);
    buf_addf(&usage, "\n`shoal help %s` explains it.\n", verb->name);
    int status = output_error(cli, err);
    output_print(cli->err, buf_str(&usage));
    return status;
}

static bool wants_json(const struct verb *verb, const void *fields)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        if (strcmp(option->name, "output") == 0 && option->kind == OPTION_CHOICE) {
            const char *format = *(const char *const *)(const void *)((const char *)fields +
                                                                      option->offset);
            return format && strcmp(format, "json") == 0;
        }
    }
    return false;
}

/* A command that failed before it had anything to print: with -o json it still prints an object. */
static void print_json_error(const struct cli *cli)
{
    AUTO_BUF struct buf out;
    struct err ignored;
    struct value *record = record_new(cli->arena);
    buf_init(&out, OUTPUT_BYTES_MAX);
    record_text(cli->arena, record, "error", str_from(cli->end->err.text));
    record_text(cli->arena, record, "error_kind", str_from(err_kind_name(cli->end->err.kind)));
    if (json_write(&out, record, JSON_COMPACT, &ignored)) {
        buf_add_char(&out, '\n');
        (void)output_write(cli, cli->out, &out);
    }
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
    int status = 0;
    if (!ok) {
        status = usage_error(cli, verb, &err);
    } else if (common.help) {
        help_verb(&help, verb);
        return output_write(cli, cli->out, &help);
    } else {
        status = verb->run(cli, fields);
    }
    if (wants_json(verb, fields) && cli->end->err.kind != ERR_NONE && !cli->end->has_output) {
        print_json_error(cli);
    }
    return status;
}

/* `shoal`, `shoal --help` and `shoal --version` run verbs too. */
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

/*
 * Opens /dev/null for closed standard streams: otherwise the next opened file or socket would get
 * their numbers. Writing to a closed standard output still fails, because the result is lost.
 */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0) {
            _exit(1); /* there is no stream for an error message */
        }
    }
}

int main(int argc, char **argv)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct cli_end end = {0};
    struct cli cli = {.out = stdout, .err = stderr, .arena = &arena, .end = &end};
    open_standard_streams();
    /* A reader that exits (head, less) causes a write error instead of ending the process. */
    signal(SIGPIPE, SIG_IGN);
    program_keep_private();
    const char *name = verb_name(argc, argv);
    const struct verb *verb = verb_find(name);
    cli.colour_err = output_wants_colour(stderr, NULL);
    const struct verb *part = verb && argc > 2 ? verb_find_part(verb, argv[2]) : NULL;
    int first = part ? 3 : argc > 2 ? 2 : argc;
    int status = verb ? run_verb(&cli, part ? part : verb, argc - first, argv + first)
                      : unknown_verb(&cli, name);
    return argc < 2 && status == 0 ? 2 : status;
}
