/* memzero.c: a memset() that the compiler cannot optimize away. */
#include "base/memzero.h"

#include <string.h>

void memzero(void *memory, size_t size)
{
    memset(memory, 0, size);
    /* Tells the compiler that the memory may be read. */
    __asm__ volatile("" : : "r"(memory) : "memory");
}
