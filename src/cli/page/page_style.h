/* page_style.h: the style of the report, light and dark, wide and narrow. */
#pragma once

extern const char *const page_style[]; /* ends with NULL */
