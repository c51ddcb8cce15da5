/* version.h: the release of Ray that Shoal is tested with, and installs where there is none. */
#pragma once

#define RAY_VERSION_TESTED "2.60.0"
