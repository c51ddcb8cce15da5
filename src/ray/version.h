/* version.h: the release of Ray that Shoal is tested with, and installs where there is none. */
#pragma once

#define RAY_VERSION_TESTED "2.60.0"
#define RAY_PYTHON_LEAST "3.10" /* of that release */

/* The first that knows authentication by token. */
#define RAY_VERSION_TOKEN "2.52"
