/* wipe.c: a memset() that the compiler may not leave out. */
#include "base/wipe.h"

#include <string.h>

void wipe(void *memory, size_t size)
{
    memset(memory, 0, size);
    /* For all the compiler knows, this reads the memory. */
    __asm__ volatile("" : : "r"(memory) : "memory");
}
