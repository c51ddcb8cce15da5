/* input.c: reading FILE. */
#include "cli/input.h"

#include "app/cluster_file.h"
#include "app/local_host.h"
#include "cli/output.h"

void input_settle(struct diag_list *diags)
{
    diag_merge_typos(diags);
    diag_sort(diags);
}

bool input_read(const struct cli *cli, const char *file, enum input_depth depth,
                struct input *ret_input, struct err *err)
{
    struct arena *arena = cli->arena;
    struct source *source = &ret_input->source;
    struct diag_list *diags = &ret_input->diags;
    diag_list_init(diags, arena);
    if (!cluster_file_read(arena, file, source, err)) {
        return false;
    }
    const struct value *tree = config_parse(arena, source, diags);
    if (tree && depth == INPUT_CHECKED) {
        config_check(tree, local_host(), diags);
    }
    input_settle(diags);
    ret_input->config = tree && diags->error_count == 0 ? config_type(arena, tree) : NULL;
    return true;
}

void input_print_findings(const struct cli *cli, const struct diag_list *diags)
{
    AUTO_BUF struct buf text;
    struct diag_style style = output_style(cli->colour_err);
    buf_init(&text, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < diags->count; i++) {
        diag_print(&text, &diags->items[i], &style);
    }
    fputs(text.ptr ? text.ptr : "", cli->err);
}
