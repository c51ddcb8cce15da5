/* child_internal.h: the child object, shared by child.c (life cycle) and child_pipe.c (pipes). */
#pragma once

#include "base/arena.h"
#include "io/child.h"
#include "io/xalloc.h"

#include <uv.h>

/* Reads one output stream. */
struct child_reader {
    uv_pipe_t uv;
    struct child *child;
    struct child_output want;
    enum child_stream stream;
    bool is_open;
    bool is_cut;
    struct buf kept; /* collected output, or an incomplete line */
};

/* Writes the input. One write at a time; more input waits until it completes. */
struct child_writer {
    uv_pipe_t uv;
    uv_write_t request;
    struct child *child;
    bool is_open;
    bool is_busy;
    bool is_ending;
    struct buf waiting, leaving;
};

enum child_state { CHILD_WAITS, CHILD_RUNS, CHILD_ENDED };

struct child {
    struct child *next, *before; /* in the pool's list of waiting or running children */
    struct child_pool *pool;
    struct arena arena; /* copies of the spec's data */
    struct child_spec spec;
    enum child_state state;
    char **argv, **env;    /* in libuv's form */
    uv_process_t *process; /* separate, because a failed start leaves a handle to close */
    struct child_reader readers[2];
    struct child_writer writer;
    struct loop_timer *timer; /* deadline, then grace, then giving up; or waiting for EOF */
    struct loop_task late;    /* reports errors that happened before the start */
    int64_t started_ms;
    int holds; /* references: one for the child itself, one for each pipe until it is closed */
    bool is_exited, is_killed;
    enum child_end reason; /* set with is_killed: why we stopped it */
    struct child_result result;
};

/* Both ends of the three pipes before the start; -1 if there is none. */
struct child_ends {
    int ours[3], theirs[3];
};

/* Creates the pipes that the spec needs and opens /dev/null for the others. Returns an errno or
 * 0. */
int child_pipes_open(const struct child *child, struct child_ends *ret_ends);
void child_pipes_close(int ends[3]);

/* Starts the readers and the writer on our ends, which take over the descriptors. */
void child_pipes_begin(struct child *child, struct child_ends *ends);

/* Closes the open pipes; nothing is read or written afterwards. */
void child_pipes_end(struct child *child);

/* Reports the last line and sets the output of the result. */
void child_pipes_finish(struct child *child);

/* Called when a reader reaches EOF. */
void child_pipe_ended(struct child *child);

/* The close callback of the pipes. */
void child_handle_closed(uv_handle_t *handle);

/* One buffer for all reads of the pool: each read is consumed before the next one starts. */
uv_buf_t child_pool_piece(struct child_pool *pool);

struct uv_loop_s *child_uv_loop(const struct child *child);
