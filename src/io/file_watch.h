/* file_watch.h: notifies when a file changes. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"

struct file_watch;

/* The file must exist. `changed` is called at least once after each change; changes may be
 * merged. */
bool file_watch_start(struct loop *loop, const char *path, loop_fn *changed, void *context,
                      struct file_watch **ret_watch, struct err *err) MUST_USE;
void file_watch_end(struct file_watch *watch); /* also from its callback; NULL is allowed */
