/* records.c: reading length-prefixed records. */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>

bool record_next(struct buf *record)
{
    char line[32];
    if (!fgets(line, sizeof(line), stdin)) {
        return false;
    }
    size_t left = strtoul(line, NULL, 10);
    buf_clear(record);
    while (left > 0) {
        char piece[4096];
        size_t got = fread(piece, 1, left < sizeof(piece) ? left : sizeof(piece), stdin);
        if (got == 0) {
            return false;
        }
        buf_add(record, (struct str){piece, got});
        left -= got;
    }
    return true;
}
