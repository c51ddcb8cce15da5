/* encode.c: percent, hexadecimal and base64 encoding. */
#include "base/encode.h"

#include <string.h>

static bool encode_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void encode_uri(struct buf *out, struct str text, const char *safe)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t start = 0; /* start of the pending run that needs no encoding */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (encode_is_plain(c) || (c != '\0' && strchr(safe, c))) {
            continue;
        }
        unsigned byte = (unsigned char)c;
        char code[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        buf_add(out, str_sub(text, start, i));
        buf_add(out, (struct str){code, sizeof(code)});
        start = i + 1;
    }
    buf_add(out, str_sub(text, start, text.len));
}

void encode_hex_to(char *ret_text, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        ret_text[2 * i] = digits[bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_text[2 * count] = '\0';
}

void encode_hex(struct buf *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char pair[3];
        encode_hex_to(pair, &bytes[i], 1);
        buf_add(out, (struct str){pair, 2});
    }
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void encode_base64(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)(unsigned char)bytes.ptr[i] << 16;
        group |= left > 1 ? (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)(unsigned char)bytes.ptr[i + 2] : 0;
        char four[4] = {base64_digits[group >> 18], base64_digits[group >> 12 & 63],
                        left > 1 ? base64_digits[group >> 6 & 63] : '=',
                        left > 2 ? base64_digits[group & 63] : '='};
        buf_add(out, (struct str){four, sizeof(four)});
    }
}

void encode_base64_lines(struct buf *out, struct str bytes, size_t line_len)
{
    struct buf letters;
    buf_init(&letters, bytes.len / 3 * 4 + 4);
    encode_base64(&letters, bytes);
    for (size_t at = 0; at < letters.len; at += line_len) {
        buf_add(out, str_sub(buf_str(&letters), at, at + line_len));
        buf_add_char(out, '\n');
    }
    buf_wipe(&letters); /* the text may be a key */
}

static int base64_value(char letter)
{
    const char *found = letter ? strchr(base64_digits, letter) : NULL;
    return found ? (int)(found - base64_digits) : -1;
}

void decode_base64(struct buf *out, struct str text)
{
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64_value(text.ptr[i]);
        if (value < 0) {
            return;
        }
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_add_char(out, (char)(bits >> count & 0xff));
        }
    }
}
