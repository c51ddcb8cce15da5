/*
 * bytes.h: numbers as bytes, the same on every machine, and back.
 *
 * A number is written seven bits to a byte, lowest first, the top bit set in all but the last
 * byte; a signed one is folded first so that small negative numbers stay short. Every number has
 * exactly one form and the reader takes no other: what could be read is written again as the same
 * bytes.
 *
 * Both sides remember the first failure and do nothing from then on (a reader gives zeros), so
 * that the owner asks once, at the end.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest form of a number. */
enum { BYTES_NUMBER_MAX = 10 };

struct byte_writer {
    struct arena *arena;
    unsigned char *ptr;
    size_t len;
    size_t capacity;
    size_t cap;  /* most bytes it may ever hold */
    bool is_bad; /* the cap was passed, or a value that no reader would take */
};

void bytes_write(struct byte_writer *writer, struct arena *arena, size_t cap);
void bytes_put_u8(struct byte_writer *writer, uint8_t value);
void bytes_put_u64(struct byte_writer *writer, uint64_t value);
void bytes_put_i64(struct byte_writer *writer, int64_t value);
void bytes_put_bool(struct byte_writer *writer, bool value);

/* A value of an enum that has `count` values, as one byte. */
void bytes_put_enum(struct byte_writer *writer, unsigned value, unsigned count);

/* How many elements follow. */
void bytes_put_count(struct byte_writer *writer, size_t count, size_t most);

struct byte_reader {
    const unsigned char *ptr; /* what is left */
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
 * At most `most`, and no more than the bytes left can hold when each element takes at least
 * `element_bytes`: memory for the elements is asked for before they are read.
 */
size_t bytes_take_count(struct byte_reader *reader, size_t most, size_t element_bytes);

/* A part of the bytes as a view, and on to what is behind it. */
struct str bytes_take(struct byte_reader *reader, size_t len);
