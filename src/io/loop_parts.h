/* loop_parts.h: the loop as child.c and http.c of this layer see it. Nobody above includes this. */
#pragma once

#include "io/loop.h"

struct uv_loop_s;

struct uv_loop_s *loop_uv(struct loop *loop);
