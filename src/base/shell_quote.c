/* shell_quote.c: quotes with single quotes. */
#include "base/shell_quote.h"

#include <string.h>

static bool shell_quote_is_plain(struct str word)
{
    static const char others[] = "@%+=:,./-_";
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr(others, c))) {
            return false;
        }
    }
    return word.len > 0;
}

void shell_quote(struct buf *out, struct str word)
{
    if (shell_quote_is_plain(word)) {
        buf_add(out, word);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') {
            buf_add_c(out, "'\"'\"'");
        } else {
            buf_add_char(out, word.ptr[i]);
        }
    }
    buf_add_char(out, '\'');
}
