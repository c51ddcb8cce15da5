/* require.c: reports a broken invariant. */
#include "base/require.h"

#include "base/panic.h"

void require_failed(const char *file, int line, const char *condition, const char *text)
{
    panic("%s:%d: broken invariant: %s (%s)", file, line, text, condition);
}
