/* report_style.h: how the page of a simulation looks, light and dark, wide and narrow. */
#pragma once

extern const char *const report_style[]; /* ends with NULL */
