/* build_info.h: how this program was built. Meson writes the values (build_info.c.in). */
#pragma once

extern const char build_commit[];    /* empty if unknown */
extern const char build_flags[];     /* a JSON object */
extern const char build_libraries[]; /* a JSON object: pkg-config name to version */
