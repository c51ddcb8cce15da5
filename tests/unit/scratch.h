/* scratch.h: removes a test's temporary folder and its contents. */
#pragma once

#include "io/file.h"

/* 0, or -1 if something is left. */
static inline int scratch_remove(const char *folder)
{
    struct err err;
    return file_remove_folder(folder, &err) ? 0 : -1;
}
