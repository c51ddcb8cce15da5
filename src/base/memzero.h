/* memzero.h: erases secrets from memory, even if it is not read again. Not every C library has
 * explicit_bzero(). */
#pragma once

#include <stddef.h>

void memzero(void *memory, size_t size);
