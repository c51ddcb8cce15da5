/* embedded_data.h: the table that tools/embed.py generates. */
#pragma once

#include <stddef.h>

struct embedded_file {
    const char *name; /* "prepare/defaults/aws.yaml" */
    const unsigned char *bytes;
    size_t size;
};

extern const struct embedded_file embedded_files[];
extern const size_t embedded_file_count;
