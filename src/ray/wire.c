/* wire.c: parses protobuf messages in place, and writes them field by field. */
#include "ray/wire.h"

#include "base/utf8.h"

#include <string.h>

enum { VARINT_BYTES_MAX = 10, KEY_KIND_BITS = 3, KEY_KIND_MASK = 7 };

/* ---- reading ---- */

struct wire wire_open(struct str bytes)
{
    const unsigned char *at = (const unsigned char *)(bytes.ptr ? bytes.ptr : "");
    return (struct wire){.at = at, .end = at + bytes.len};
}

static bool break_off(struct wire *wire)
{
    wire->is_broken = true;
    wire->at = wire->end;
    return false;
}

static size_t left_in(const struct wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

static bool take_varint(struct wire *wire, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && wire->at < wire->end; i++) {
        unsigned char byte = *wire->at++;
        number |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return break_off(wire);
}

/* Little-endian: the last byte is the highest. */
static bool take_fixed(struct wire *wire, size_t size, uint64_t *ret_number)
{
    if (left_in(wire) < size) {
        return break_off(wire);
    }
    uint64_t number = 0;
    for (size_t i = size; i-- > 0;) {
        number = number << 8 | wire->at[i];
    }
    wire->at += size;
    *ret_number = number;
    return true;
}

static bool wire_take_bytes(struct wire *wire, struct str *ret_bytes)
{
    uint64_t len;
    if (!take_varint(wire, &len)) {
        return false;
    }
    if (len > left_in(wire)) {
        return break_off(wire);
    }
    *ret_bytes = (struct str){(const char *)wire->at, (size_t)len};
    wire->at += len;
    return true;
}

bool wire_next(struct wire *wire, struct wire_field *ret_field)
{
    uint64_t key;
    if (wire->at == wire->end) {
        return false;
    }
    if (!take_varint(wire, &key) || key > UINT32_MAX || key >> KEY_KIND_BITS == 0) {
        return break_off(wire);
    }
    ret_field->key = (uint32_t)key;
    switch ((enum wire_kind)(key & KEY_KIND_MASK)) {
    case WIRE_VARINT:
        return take_varint(wire, &ret_field->number);
    case WIRE_FIXED64:
        return take_fixed(wire, 8, &ret_field->number);
    case WIRE_FIXED32:
        return take_fixed(wire, 4, &ret_field->number);
    case WIRE_BYTES:
        return wire_take_bytes(wire, &ret_field->bytes);
    }
    return break_off(wire); /* groups, which Ray does not use */
}

size_t wire_count(struct str bytes, uint32_t key)
{
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field)) {
        count += field.key == key;
    }
    return count;
}

double wire_double(uint64_t number)
{
    double value;
    memcpy(&value, &number, sizeof(value));
    return value;
}

/* ---- writing ---- */

static void add_varint(struct buf *out, uint64_t number)
{
    while (number >= 0x80) {
        buf_add_char(out, (char)(unsigned char)(number | 0x80));
        number >>= 7;
    }
    buf_add_char(out, (char)(unsigned char)number);
}

void wire_add_number(struct buf *out, uint32_t tag, int64_t number)
{
    if (number != 0) {
        add_varint(out, WIRE_KEY(tag, WIRE_VARINT));
        add_varint(out, (uint64_t)number);
    }
}

void wire_add_double(struct buf *out, uint32_t tag, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    if (bits == 0) {
        return;
    }
    add_varint(out, WIRE_KEY(tag, WIRE_FIXED64));
    for (unsigned i = 0; i < sizeof(bits); i++) {
        buf_add_char(out, (char)(unsigned char)(bits >> (8 * i)));
    }
}

void wire_add_text(struct buf *out, uint32_t tag, struct str text)
{
    if (text.len == 0) {
        return;
    }
    if (utf8_is_valid(text)) {
        wire_add_bytes(out, tag, text);
        return;
    }
    AUTO_BUF struct buf clean;
    buf_init(&clean, text.len + 1);
    utf8_add_visible(&clean, text, true);
    wire_add_bytes(out, tag, buf_str(&clean));
}

void wire_add_bytes(struct buf *out, uint32_t tag, struct str bytes)
{
    add_varint(out, WIRE_KEY(tag, WIRE_BYTES));
    add_varint(out, bytes.len);
    buf_add(out, bytes);
}
