/* wipe.h: memory that held a secret, overwritten even if nobody reads it again. Not every C library
 * has explicit_bzero(). */
#pragma once

#include <stddef.h>

void wipe(void *memory, size_t size);
