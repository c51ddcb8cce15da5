/* admit.h: whether ssh from this machine reaches the head; launcher_admit() is in launcher.h. */
#pragma once

#include "app/launch/launcher.h"

/* True if the head's ssh port does not answer this machine within a few seconds. False if the way
 * there starts elsewhere (a proxy, a private network), where this cannot be known. */
bool admit_is_silent(const struct launcher_setup *setup, struct str address);
