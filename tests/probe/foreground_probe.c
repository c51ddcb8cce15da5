/* foreground_probe.c: foreground_probe WORD...: runs the words with its own terminal and says how
 * they ended, on standard output; for tests that play the terminal. */
#include "io/foreground.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct err err;
    struct foreground_end end;
    const char *words[64] = {NULL};
    for (int i = 1; i < argc && i < 64; i++) {
        words[i - 1] = argv[i];
    }
    if (!foreground_run(words, FOREGROUND_OURS, STR("parent is here\n"), &end, &err)) {
        printf("error: %s\n", err.text);
        return 1;
    }
    printf("status %d%s\n", end.status, end.is_interrupted ? " interrupted" : "");
    return 0;
}
