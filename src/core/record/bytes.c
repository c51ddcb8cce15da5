/* bytes.c: encodes numbers and strictly decodes them. */
#include "core/record/bytes.h"

#include <string.h>

enum { FIRST_CAPACITY = 64, LOW_BITS = 7, LOW_MASK = 0x7f, MORE = 0x80 };

void bytes_write(struct byte_writer *writer, struct arena *arena, size_t cap)
{
    *writer = (struct byte_writer){.arena = arena, .cap = cap};
}

/* Room for `more` bytes, which are fewer than FIRST_CAPACITY. */
static bool has_room(struct byte_writer *writer, size_t more)
{
    if (writer->is_bad || writer->cap - writer->len < more) {
        writer->is_bad = true;
        return false;
    }
    if (writer->capacity - writer->len < more) {
        size_t wanted = writer->capacity ? writer->capacity * 2 : FIRST_CAPACITY;
        unsigned char *larger = arena_alloc(writer->arena, wanted);
        if (writer->len > 0) {
            memcpy(larger, writer->ptr, writer->len);
        }
        writer->ptr = larger;
        writer->capacity = wanted;
    }
    return true;
}

void bytes_put_u8(struct byte_writer *writer, uint8_t value)
{
    if (has_room(writer, 1)) {
        writer->ptr[writer->len++] = value;
    }
}

void bytes_put_u64(struct byte_writer *writer, uint64_t value)
{
    unsigned char form[BYTES_NUMBER_MAX];
    size_t len = 0;
    while (value > LOW_MASK) {
        form[len++] = (unsigned char)((value & LOW_MASK) | MORE);
        value >>= LOW_BITS;
    }
    form[len++] = (unsigned char)value;
    if (has_room(writer, len)) {
        memcpy(writer->ptr + writer->len, form, len);
        writer->len += len;
    }
}

/* 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
void bytes_put_i64(struct byte_writer *writer, int64_t value)
{
    uint64_t twice = (uint64_t)value << 1;
    bytes_put_u64(writer, value < 0 ? ~twice : twice);
}

void bytes_put_bool(struct byte_writer *writer, bool value)
{
    bytes_put_u8(writer, value);
}

void bytes_put_enum(struct byte_writer *writer, unsigned value, unsigned count)
{
    if (value >= count || value > UINT8_MAX) {
        writer->is_bad = true;
    }
    bytes_put_u8(writer, (uint8_t)value);
}

void bytes_put_count(struct byte_writer *writer, size_t count, size_t most)
{
    if (count > most) {
        writer->is_bad = true;
    }
    bytes_put_u64(writer, count);
}

void bytes_read(struct byte_reader *reader, struct str bytes)
{
    *reader = (struct byte_reader){.ptr = (const unsigned char *)bytes.ptr, .len = bytes.len};
}

struct str bytes_take(struct byte_reader *reader, size_t len)
{
    if (reader->is_bad || len > reader->len) {
        reader->is_bad = true;
        return STR("");
    }
    struct str part = {(const char *)reader->ptr, len};
    if (len > 0) {
        reader->ptr += len;
        reader->len -= len;
    }
    return part;
}

uint8_t bytes_take_u8(struct byte_reader *reader)
{
    struct str one = bytes_take(reader, 1);
    return one.len == 1 ? (uint8_t)one.ptr[0] : 0;
}

uint64_t bytes_take_u64(struct byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += LOW_BITS) {
        uint8_t byte = bytes_take_u8(reader);
        uint64_t bits = (uint64_t)(byte & LOW_MASK);
        if (reader->is_bad || bits << shift >> shift != bits) {
            break;
        }
        value |= bits << shift;
        if (!(byte & MORE)) {
            /* A zero last byte is not canonical. */
            reader->is_bad = byte == 0 && shift > 0;
            return reader->is_bad ? 0 : value;
        }
    }
    reader->is_bad = true;
    return 0;
}

uint32_t bytes_take_u32(struct byte_reader *reader)
{
    uint64_t value = bytes_take_u64(reader);
    if (value > UINT32_MAX) {
        reader->is_bad = true;
        return 0;
    }
    return (uint32_t)value;
}

int64_t bytes_take_i64(struct byte_reader *reader)
{
    uint64_t folded = bytes_take_u64(reader);
    int64_t half = (int64_t)(folded >> 1);
    return folded & 1 ? -half - 1 : half;
}

bool bytes_take_bool(struct byte_reader *reader)
{
    return bytes_take_enum(reader, 2) == 1;
}

unsigned bytes_take_enum(struct byte_reader *reader, unsigned count)
{
    uint8_t value = bytes_take_u8(reader);
    if (value >= count) {
        reader->is_bad = true;
        return 0;
    }
    return value;
}

size_t bytes_take_count(struct byte_reader *reader, size_t most, size_t element_bytes)
{
    uint64_t count = bytes_take_u64(reader);
    if (count > most || count > reader->len / element_bytes) {
        reader->is_bad = true;
        return 0;
    }
    return (size_t)count;
}
