/* watch.h: to be told when a file changes, instead of looking again and again. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "io/loop.h"

struct watch;

/* The file must be there. Told at least once after each change; several may be told as one. */
bool watch_start(struct loop *loop, const char *path, loop_fn *changed, void *context,
                 struct watch **ret_watch, struct err *err) MUST_USE;
void watch_end(struct watch *watch); /* also from its own callback; NULL is fine */
