/* verb_completion.c: prints completion scripts for shells. */
#include "app/cluster_state.h"
#include "cli/completion.h"
#include "cli/output.h"

#include <string.h>

struct completion_fields {
    const char *shell;
};

static const char *const shells[] = {"bash", "zsh", "fish", "clusters", NULL};

static const struct operand operands[] = {
    {"SHELL", offsetof(struct completion_fields, shell), false, COMPLETE_CHOICE, shells,
     "bash, zsh or fish. The scripts use `clusters`, which prints the names of the clusters that "
     "were started from this machine."},
};

static const struct example examples[] = {
    {"source <(shoal completion bash)", "Enable completion in this shell; add the line to "
                                        "~/.bashrc for all shells."},
    {"shoal completion zsh > \"${fpath[1]}/_shoal\"", "Install the completion for zsh."},
    {"shoal completion fish > ~/.config/fish/completions/shoal.fish", "Install the completion for "
                                                                      "fish."},
};

static void add_name(void *context, struct str name)
{
    struct buf *out = context;
    buf_add(out, name);
    buf_add_char(out, '\n');
}

static int verb_completion_run(const struct cli *cli, const void *fields)
{
    const struct completion_fields *given = fields;
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (strcmp(given->shell, "bash") == 0) {
        completion_bash(&out);
    } else if (strcmp(given->shell, "zsh") == 0) {
        completion_zsh(&out);
    } else if (strcmp(given->shell, "clusters") == 0) {
        cluster_state_names(cli->arena, add_name, &out);
    } else {
        completion_fish(&out);
    }
    return output_write(cli, cli->out, &out);
}

const struct verb verb_completion = {
    .name = "completion",
    .summary = "print a completion script for your shell",
    .description = "Prints a script that lets the shell complete Shoal's commands, options, values "
                   "and clusters.",
    VERB_ROWS(operand),
    VERB_ROWS(example),
    .fields_size = sizeof(struct completion_fields),
    .run = verb_completion_run,
};
