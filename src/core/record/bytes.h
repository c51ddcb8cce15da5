/*
 * bytes.h: encodes numbers as bytes, independent of the machine, and decodes them.
 *
 * Numbers use seven bits per byte, lowest first, with the top bit set in all but the last byte;
 * signed numbers are zigzag-encoded, so that small negative ones stay short. Every number has
 * exactly one form and the reader accepts no other: encoding a decoded value gives the same bytes.
 *
 * Reader and writer remember the first failure and then do nothing (the reader returns zeros), so
 * the caller checks once, at the end.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest encoding of a number. */
enum { BYTES_NUMBER_MAX = 10 };

struct byte_writer {
    struct arena *arena;
    unsigned char *ptr;
    size_t len;
    size_t capacity;
    size_t cap;  /* limit of its size */
    bool is_bad; /* the cap was exceeded, or a value is not decodable */
};

void bytes_write(struct byte_writer *writer, struct arena *arena, size_t cap);
void bytes_put_u8(struct byte_writer *writer, uint8_t value);
void bytes_put_u64(struct byte_writer *writer, uint64_t value);
void bytes_put_i64(struct byte_writer *writer, int64_t value);
void bytes_put_bool(struct byte_writer *writer, bool value);

/* An enum with `count` values, as one byte. */
void bytes_put_enum(struct byte_writer *writer, unsigned value, unsigned count);

/* The number of elements that follow. */
void bytes_put_count(struct byte_writer *writer, size_t count, size_t most);

struct byte_reader {
    const unsigned char *ptr; /* the remaining bytes */
    size_t len;
    bool is_bad;
};

void bytes_read(struct byte_reader *reader, struct str bytes);
uint8_t bytes_take_u8(struct byte_reader *reader);
uint64_t bytes_take_u64(struct byte_reader *reader);
uint32_t bytes_take_u32(struct byte_reader *reader);
int64_t bytes_take_i64(struct byte_reader *reader);
bool bytes_take_bool(struct byte_reader *reader);
unsigned bytes_take_enum(struct byte_reader *reader, unsigned count);

/*
 * At most `most`, and no more than fit into the remaining bytes with at least `element_bytes` each,
 * because memory is allocated before the elements are read.
 */
size_t bytes_take_count(struct byte_reader *reader, size_t most, size_t element_bytes);

/* Returns the next `len` bytes as a view and skips them. */
struct str bytes_take(struct byte_reader *reader, size_t len);
