/* frame.c: writes and checks the format and length around the body of a record. */
#include "core/record/frame.h"

#include <string.h>

/* Reserved before the body, because the length is only known after it. */
enum { HEAD_ROOM = 1 + BYTES_NUMBER_MAX };

void frame_begin(struct byte_writer *writer, struct arena *arena)
{
    bytes_write(writer, arena, HEAD_ROOM + RECORD_BYTES_MAX);
    for (size_t i = 0; i < HEAD_ROOM; i++) {
        bytes_put_u8(writer, 0);
    }
}

struct str frame_end(struct byte_writer *writer, enum record_format format)
{
    struct byte_writer head;
    if (writer->is_bad) {
        return STR("");
    }
    bytes_write(&head, writer->arena, HEAD_ROOM);
    bytes_put_u8(&head, (uint8_t)format);
    bytes_put_u64(&head, writer->len - HEAD_ROOM);
    unsigned char *start = writer->ptr + HEAD_ROOM - head.len;
    memcpy(start, head.ptr, head.len);
    return (struct str){(const char *)start, writer->len - HEAD_ROOM + head.len};
}

bool frame_open(struct str *bytes, enum record_format format, struct str *ret_body)
{
    struct byte_reader reader;
    bytes_read(&reader, *bytes);
    if (bytes_take_u8(&reader) != (uint8_t)format) {
        return false;
    }
    size_t len = bytes_take_count(&reader, RECORD_BYTES_MAX, 1);
    *ret_body = bytes_take(&reader, len);
    if (reader.is_bad) {
        return false;
    }
    *bytes = str_sub(*bytes, bytes->len - reader.len, bytes->len);
    return true;
}

int frame_kind(struct str body)
{
    return body.len > 0 ? (unsigned char)body.ptr[0] : -1;
}
