/* child_parts.h: a child inside, shared by child.c (its life) and child_pipe.c (its pipes). */
#pragma once

#include "base/arena.h"
#include "io/child.h"
#include "io/heap.h"

#include <uv.h>

/* Where a child's output arrives. */
struct child_reader {
    uv_pipe_t uv;
    struct child *child;
    struct child_output want;
    enum child_stream stream;
    bool is_open;
    bool is_cut;
    struct buf kept; /* collected so far, or the beginning of a line */
};

/* Where its input leaves. One write at a time; what comes meanwhile waits. */
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
    struct child *next, *before; /* in the pool's ring of waiting or of running ones */
    struct child_pool *pool;
    struct arena arena; /* what was copied from the spec */
    struct child_spec spec;
    enum child_state state;
    char **argv, **env;    /* as libuv wants them */
    uv_process_t *process; /* on its own, because a failed start leaves one to be closed */
    struct child_reader readers[2];
    struct child_writer writer;
    struct loop_timer *timer; /* deadline, then grace, then giving up; or lingering output */
    struct loop_task late;    /* tells what went wrong before it started */
    int64_t started_ms;
    int holds; /* who still needs this memory: its own life, and each pipe until it is closed */
    bool is_exited, is_killed;
    enum child_end reason; /* why we ended it, when is_killed */
    struct child_result result;
};

/* Both ends of the three pipes before the start; -1 where there is none. */
struct child_ends {
    int ours[3], theirs[3];
};

/* Makes the pipes that the spec asks for, /dev/null for the rest; an errno, or 0. */
int child_pipes_open(const struct child *child, struct child_ends *ret_ends);
void child_pipes_close(int ends[3]);

/* Our ends become the readers and the writer, which begin at once. They own the descriptors. */
void child_pipes_begin(struct child *child, struct child_ends *ends);

/* Closes what is still open: after this no more is read or written. */
void child_pipes_end(struct child *child);

/* Hands out the last line, and sets the result's output. */
void child_pipes_finish(struct child *child);

/* A reader has come to its end. */
void child_pipe_ended(struct child *child);

/* The close callback of its pipes. */
void child_handle_closed(uv_handle_t *handle);

/* One piece of memory for every read of the pool: a read is used up before the next begins. */
uv_buf_t child_pool_piece(struct child_pool *pool);

struct uv_loop_s *child_uv_loop(const struct child *child);
