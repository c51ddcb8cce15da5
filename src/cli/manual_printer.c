/* manual_printer.c: run by the build: manual_printer PAGE prints one page of the manual.
 * PAGE is shoal, shoal-VERB, shoal-cluster or cluster-file.md. */
#include "cli/manual.h"

#include <stdio.h>
#include <string.h>

static bool print_page(struct buf *out, const char *page)
{
    if (strcmp(page, "shoal") == 0) {
        manual_program(out);
    } else if (strcmp(page, "shoal-cluster") == 0) {
        manual_cluster_file(out);
    } else if (strcmp(page, "cluster-file.md") == 0) {
        manual_cluster_file_markdown(out);
    } else {
        const struct verb *verb = strncmp(page, "shoal-", 6) == 0 ? verb_find(page + 6) : NULL;
        if (!verb) {
            return false;
        }
        manual_verb(out, verb);
    }
    return true;
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
