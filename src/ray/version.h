/* version.h: the Ray release that Shoal is tested with, and installs if there is none. */
#pragma once

#define RAY_VERSION_TESTED "2.60.0"
#define RAY_PYTHON_LEAST "3.10" /* required by that release */

/* The first release with token authentication. */
#define RAY_VERSION_TOKEN "2.52"
/* The first release tested with GCS tables on disk. */
#define RAY_VERSION_DISK "2.60"
