/*
 * file_limit.h: the limit on open files, of this process and of its children.
 *
 * Each node being set up needs several descriptors; the usual limit of 1024 is reached at two
 * hundred nodes. Children keep the original limit: programs that use select(), or that close every
 * possible descriptor, misbehave with a large one.
 */
#pragma once

/* Raises the limit as far as allowed. Later calls do nothing. */
void file_limit_raise(void);

/* Restores the original limit; call before exec. */
void file_limit_restore(void);

/* Call before and after starting a child. In between, hardly any file can be opened. */
void file_limit_begin_child(void);
void file_limit_end_child(void);
