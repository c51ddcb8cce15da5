/* answer.h: how an operation of a provider failed. */
#pragma once

#include "base/attr.h"
#include "provider/provider.h"

/* The arguments may be views of the answer itself. */
void answer_write(struct provider_answer *answer, enum outcome outcome, enum err_kind kind,
                  const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Is false, as err_set(). */
#define answer_fail(...) (answer_write(__VA_ARGS__), err_failed())
