/* loop_internal.h: the libuv loop, for other files of this folder only. */
#pragma once

#include "io/loop.h"

struct uv_loop_s;

struct uv_loop_s *loop_uv(struct loop *loop);
