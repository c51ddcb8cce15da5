/*
 * child_pipe.c: the three pipes of a child.
 *
 * Real pipes, not libuv's socket pairs: a program that reopens /dev/stderr fails on a socket.
 * Output beyond the limits is read and dropped, because a child that blocks on a full pipe would
 * never exit.
 */
#include "io/child_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- creating ---- */

void child_pipes_close(int ends[3])
{
    for (int i = 0; i < 3; i++) {
        if (ends[i] >= 0) {
            close(ends[i]);
        }
        ends[i] = -1;
    }
}

/* Descriptor `number` of the child: a pipe if `is_pipe`, otherwise /dev/null. */
static int open_one(struct child_ends *ends, int number, bool is_pipe)
{
    int both[2];
    if (!is_pipe) {
        ends->theirs[number] = open("/dev/null", O_RDWR | O_CLOEXEC);
        return ends->theirs[number] < 0 ? errno : 0;
    }
    int fault = uv_pipe(both, 0, 0); /* closed on exec */
    if (fault != 0) {
        return -fault;
    }
    ends->ours[number] = both[number == 0 ? 1 : 0];
    ends->theirs[number] = both[number == 0 ? 0 : 1];
    return 0;
}

int child_pipes_open(const struct child *child, struct child_ends *ret_ends)
{
    const struct child_spec *spec = &child->spec;
    struct child_ends ends = {{-1, -1, -1}, {-1, -1, -1}};
    int fault = open_one(&ends, 0, spec->is_fed || spec->input.len > 0);
    for (int i = 0; i < 2 && fault == 0; i++) {
        fault = open_one(&ends, i + 1, spec->output[i].bytes_max > 0);
    }
    if (fault != 0) {
        child_pipes_close(ends.ours);
        child_pipes_close(ends.theirs);
        return fault;
    }
    *ret_ends = ends;
    return 0;
}

/* ---- output ---- */

/* Keeps at least the last bytes_max bytes, and up to twice that between trims. */
static void keep_tail(struct child_reader *reader, struct str bytes)
{
    struct buf *kept = &reader->kept;
    size_t most = reader->want.bytes_max;
    if (bytes.len > most) {
        reader->is_cut = true;
        bytes = str_sub(bytes, bytes.len - most, bytes.len);
    }
    if (kept->len + bytes.len > kept->cap) {
        size_t stays = most - bytes.len;
        reader->is_cut = true;
        memmove(kept->ptr, kept->ptr + kept->len - stays, stays);
        kept->len = stays;
    }
    buf_add(kept, bytes);
}

static void keep_head(struct child_reader *reader, struct str bytes)
{
    size_t room = reader->kept.cap - reader->kept.len;
    reader->is_cut = reader->is_cut || bytes.len > room;
    buf_add(&reader->kept, str_sub(bytes, 0, room));
}

static void child_pipe_report_line(struct child_reader *reader, struct str line)
{
    struct child *child = reader->child;
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--; /* remote terminals add a carriage return */
    }
    if (child->spec.done) { /* not forgotten */
        reader->want.line(child->spec.context, reader->stream, line);
    }
}

/* `piece` completes a line if `is_end`, otherwise it is an incomplete line. */
static void add_to_line(struct child_reader *reader, struct str piece, bool is_end)
{
    struct buf *kept = &reader->kept;
    while (kept->len + piece.len > kept->cap) {
        size_t room = kept->cap - kept->len;
        buf_add(kept, str_sub(piece, 0, room));
        piece = str_sub(piece, room, piece.len);
        reader->is_cut = true;
        child_pipe_report_line(reader, buf_str(kept));
        kept->len = 0;
    }
    buf_add(kept, piece);
    if (is_end) {
        child_pipe_report_line(reader, buf_str(kept));
        kept->len = 0;
    }
}

static void hand_out_lines(struct child_reader *reader, struct str bytes)
{
    while (bytes.len > 0) {
        size_t end = str_find_char(bytes, '\n');
        bool is_end = end != SIZE_MAX;
        struct str piece = str_sub(bytes, 0, is_end ? end : bytes.len);
        bytes = str_sub(bytes, is_end ? end + 1 : bytes.len, bytes.len);
        add_to_line(reader, piece, is_end);
    }
}

static void child_pipe_take(struct child_reader *reader, struct str bytes)
{
    if (reader->want.line) {
        hand_out_lines(reader, bytes);
    } else if (reader->want.keeps_tail) {
        keep_tail(reader, bytes);
    } else {
        keep_head(reader, bytes);
    }
}

static void close_reader(struct child_reader *reader)
{
    if (reader->is_open) {
        reader->is_open = false;
        uv_close((uv_handle_t *)&reader->uv, child_handle_closed);
    }
}

static void child_pipe_lend_piece(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_piece)
{
    const struct child *child = handle->data;
    (void)wanted;
    *ret_piece = child_pool_piece(child->pool);
}

static void child_pipe_on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *piece)
{
    struct child *child = stream->data;
    struct child_reader *reader = &child->readers[stream == (uv_stream_t *)&child->readers[1].uv];
    if (got > 0) {
        child_pipe_take(reader, (struct str){piece->base, (size_t)got});
    } else if (got < 0) {
        close_reader(reader);
        child_pipe_ended(child);
    }
}

static void begin_reader(struct child *child, enum child_stream stream, int fd)
{
    struct child_reader *reader = &child->readers[stream];
    size_t most = child->spec.output[stream].bytes_max;
    reader->child = child;
    reader->stream = stream;
    reader->want = child->spec.output[stream];
    bool is_tail = reader->want.keeps_tail && !reader->want.line;
    buf_init(&reader->kept, is_tail ? 2 * most : most);
    if (fd < 0) {
        return;
    }
    uv_pipe_init(child_uv_loop(child), &reader->uv, 0);
    reader->uv.data = child;
    reader->is_open = true;
    child->holds++;
    uv_pipe_open(&reader->uv, fd);
    uv_read_start((uv_stream_t *)&reader->uv, child_pipe_lend_piece, child_pipe_on_read);
}

/* ---- input ---- */

static void child_pipe_push(struct child_writer *writer);

static void close_writer(struct child_writer *writer)
{
    if (writer->is_open) {
        writer->is_open = false;
        uv_close((uv_handle_t *)&writer->uv, child_handle_closed);
    }
}

static void tell_drained(struct child_writer *writer)
{
    const struct child_spec *spec = &writer->child->spec;
    bool is_dry = writer->is_open && !writer->is_busy && writer->waiting.len == 0;
    if (is_dry && spec->drained && spec->done) { /* not forgotten */
        spec->drained(spec->context);
    }
}

static void child_pipe_on_written(uv_write_t *request, int fault)
{
    struct child_writer *writer = request->data;
    writer->is_busy = false;
    buf_clear(&writer->leaving);
    if (fault != 0) {
        close_writer(writer); /* the child closed its input; see its exit status */
    } else {
        child_pipe_push(writer);
        tell_drained(writer);
    }
}

/* Writes queued input; closes the pipe after the last of it. */
static void child_pipe_push(struct child_writer *writer)
{
    if (writer->is_busy || !writer->is_open) {
        return;
    }
    if (writer->waiting.len == 0) {
        if (writer->is_ending) {
            close_writer(writer);
        }
        return;
    }
    struct buf sent = writer->leaving;
    writer->leaving = writer->waiting;
    writer->waiting = sent;
    writer->waiting.cap = CHILD_INPUT_MAX;
    uv_buf_t piece = uv_buf_init(writer->leaving.ptr, (unsigned)writer->leaving.len);
    writer->request.data = writer;
    writer->is_busy = true;
    if (uv_write(&writer->request, (uv_stream_t *)&writer->uv, &piece, 1, child_pipe_on_written) !=
        0) {
        writer->is_busy = false;
        close_writer(writer);
    }
}

bool child_write(struct child *child, struct str bytes)
{
    struct child_writer *writer = &child->writer;
    if (child->state == CHILD_ENDED || (child->state == CHILD_RUNS && !writer->is_open)) {
        return true; /* input was closed; the result will say why */
    }
    if (bytes.len > writer->waiting.cap - writer->waiting.len) {
        return false;
    }
    buf_add(&writer->waiting, bytes);
    child_pipe_push(writer);
    return true;
}

void child_end_input(struct child *child)
{
    child->writer.is_ending = true;
    child_pipe_push(&child->writer);
}

static void begin_writer(struct child *child, int fd)
{
    struct child_writer *writer = &child->writer;
    if (fd < 0) {
        return;
    }
    uv_pipe_init(child_uv_loop(child), &writer->uv, 0);
    writer->uv.data = child;
    writer->child = child;
    writer->is_open = true;
    child->holds++;
    uv_pipe_open(&writer->uv, fd);
    child_pipe_push(writer);
}

/* ---- all three ---- */

void child_pipes_begin(struct child *child, struct child_ends *ends)
{
    begin_writer(child, ends->ours[0]);
    begin_reader(child, CHILD_STDOUT, ends->ours[1]);
    begin_reader(child, CHILD_STDERR, ends->ours[2]);
}

void child_pipes_end(struct child *child)
{
    close_writer(&child->writer);
    close_reader(&child->readers[0]);
    close_reader(&child->readers[1]);
}

void child_pipes_finish(struct child *child)
{
    for (int i = 0; i < 2; i++) {
        struct child_reader *reader = &child->readers[i];
        struct str kept = buf_str(&reader->kept);
        reader->is_cut = reader->is_cut || reader->is_open;
        if (reader->want.line && kept.len > 0) {
            child_pipe_report_line(reader, kept);
        }
        if (!reader->want.line) {
            size_t most = reader->want.bytes_max;
            reader->is_cut = reader->is_cut || kept.len > most;
            child->result.output[i] = kept.len > most ? str_sub(kept, kept.len - most, kept.len)
                                                      : kept;
        }
        child->result.is_cut[i] = reader->is_cut;
    }
}
