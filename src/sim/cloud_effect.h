/* cloud_effect.h: the effects of calls. Private to the files of the cloud. */
#pragma once

#include "sim/cloud.h"

/* Adds a record with every time set to "never", for the caller to fill in. May move the array. */
struct instance *cloud_add_instance(struct cloud *cloud);

/* These fill in the reply. */
void cloud_launch_effect(struct cloud *cloud, struct cloud_call *call);
void cloud_list_effect(struct cloud *cloud, struct cloud_call *call);

/* Up to listing_lag; 0 while that fault is off. */
static inline int64_t cloud_lag(struct cloud *cloud)
{
    if (!fault_strikes(cloud->faults, FAULT_listing_lag, &cloud->rng)) {
        return 0;
    }
    return rng_between(&cloud->rng, 0, cloud->faults->listing_lag);
}
