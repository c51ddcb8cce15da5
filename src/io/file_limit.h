/*
 * file_limit.h: how many files may be open at once, in this process and in its children.
 *
 * Every node that is set up costs a handful of descriptors, and the usual limit of 1024 ends at two
 * hundred nodes. Children keep the limit that we were started with: programs that use select(), or
 * that close all they could have open, break with a great one.
 */
#pragma once

/* As many as this process may have. Again: nothing. */
void file_limit_raise(void);

/* As we were started: before this process becomes another program. */
void file_limit_restore(void);

/* Around the start of a child. Between the two, hardly anything can be opened. */
void file_limit_begin_child(void);
void file_limit_end_child(void);
