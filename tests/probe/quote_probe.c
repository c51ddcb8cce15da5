/* quote_probe.c: words for a shell. Reads words, each ended by a zero byte, and writes each quoted,
 * ended likewise. */
#include "base/shell_quote.h"

#include <stdio.h>

enum { BYTES_MAX = 1 << 26 };

int main(void)
{
    AUTO_BUF struct buf given;
    AUTO_BUF struct buf out;
    char piece[65536];
    size_t count;
    buf_init(&given, BYTES_MAX);
    buf_init(&out, BYTES_MAX);
    while ((count = fread(piece, 1, sizeof(piece), stdin)) > 0) {
        buf_add(&given, (struct str){piece, count});
    }
    for (struct str rest = buf_str(&given); rest.len > 0;) {
        shell_quote(&out, str_cut(&rest, '\0'));
        buf_add_char(&out, '\0');
    }
    return fwrite(out.ptr, 1, out.len, stdout) == out.len && !out.is_full ? 0 : 1;
}
