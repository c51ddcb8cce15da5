/* status_probe.c: prints the status text for each record, a GetClusterStatusReply; its line ends
 * become the byte 0x1e, so that an answer is one line. */
#include "ray/status_text.h"
#include "records.h"

#include <stdio.h>

enum { BYTES_MAX = 64 * 1024 * 1024 };

/* The test uses the same moment. */
static const int64_t asked_us = 1790000000123456;

static void answer(struct str reply)
{
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, BYTES_MAX);
    if (!ray_status_text(reply, asked_us, &out, &err)) {
        printf("!error %s\n", err.text);
        return;
    }
    for (size_t i = 0; i < out.len; i++) {
        putchar(out.ptr[i] == '\n' ? 0x1e : out.ptr[i]);
    }
    putchar('\n');
}

int main(void)
{
    AUTO_BUF struct buf record;
    buf_init(&record, BYTES_MAX);
    while (record_next(&record)) {
        answer(buf_str(&record));
    }
    return 0;
}
