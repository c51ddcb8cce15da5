/* loop_uv.h: the libuv loop, for the files of this folder that have libuv handles of their own. */
#pragma once

#include "io/loop.h"

struct uv_loop_s;

/* Valid as long as the loop. Its handles must be closed before loop_free(). */
struct uv_loop_s *loop_uv(struct loop *loop);
