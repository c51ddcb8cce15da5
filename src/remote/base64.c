/* base64.c: three bytes make four letters. */
#include "remote/base64.h"

#include <stdint.h>

enum { GROUP_BYTES = 3, GROUP_LETTERS = 4 };

static void group_text(struct str bytes, char ret_letters[GROUP_LETTERS])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    for (size_t i = 0; i < GROUP_BYTES; i++) {
        bits = bits << 8 | (i < bytes.len ? (uint8_t)bytes.ptr[i] : 0);
    }
    for (size_t i = 0; i < GROUP_LETTERS; i++) {
        ret_letters[i] = i <= bytes.len ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
}

void base64_add(struct buf *out, struct str bytes, size_t line_len)
{
    size_t column = 0;
    for (size_t at = 0; at < bytes.len; at += GROUP_BYTES) {
        char letters[GROUP_LETTERS];
        group_text(str_sub(bytes, at, at + GROUP_BYTES), letters);
        for (size_t i = 0; i < GROUP_LETTERS; i++) {
            if (line_len > 0 && column == line_len) {
                buf_add_char(out, '\n');
                column = 0;
            }
            buf_add_char(out, letters[i]);
            column++;
        }
    }
    if (line_len > 0 && column > 0) {
        buf_add_char(out, '\n');
    }
}
