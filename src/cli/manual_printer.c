/* manual_printer.c: a build tool: `manual_printer PAGE` prints one page of the manual. PAGE is
 * shoal, shoal-VERB, shoal-cluster, shoal-workload, cluster-file.md, workload-file.md,
 * cluster.schema.json or workload.schema.json. */
#include "cli/manual.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    void (*print)(struct buf *out);
} pages[] = {
    {"shoal", manual_program},
    {"shoal-cluster", manual_cluster_file},
    {"shoal-workload", manual_workload_file},
    {"cluster-file.md", manual_cluster_file_markdown},
    {"workload-file.md", manual_workload_file_markdown},
    {"cluster.schema.json", manual_cluster_file_schema},
    {"workload.schema.json", manual_workload_file_schema},
};

static bool print_page(struct buf *out, const char *page)
{
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        if (strcmp(page, pages[i].name) == 0) {
            pages[i].print(out);
            return true;
        }
    }
    const struct verb *verb = strncmp(page, "shoal-", 6) == 0 ? verb_find(page + 6) : NULL;
    if (verb) {
        manual_verb(out, verb);
    }
    return verb != NULL;
}

int main(int argc, char **argv)
{
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)16 * 1024 * 1024);
    if (argc != 2 || !print_page(&out, argv[1])) {
        fprintf(stderr, "usage: manual_printer PAGE\n");
        return 2;
    }
    return fwrite(out.ptr, 1, out.len, stdout) == out.len ? 0 : 1;
}
