/* random_id.h: new ids that no other process has. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/* 32 hexadecimal digits, in `arena`. */
bool random_id(struct arena *arena, struct str *ret_id, struct err *err) MUST_USE;
