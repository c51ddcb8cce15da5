/*
 * cloud_effect.h: what a call does at the moment of its effect; between the files of the cloud.
 */
#pragma once

#include "sim/cloud.h"

/* A new record with every time at "never"; the caller fills it. Moves the array. */
struct instance *cloud_add_instance(struct cloud *cloud);

/* The instance begins to end now; AGENDA_INSTANCE_GONE follows. */
void cloud_end_instance(struct cloud *cloud, struct instance *instance, enum ended_by by);

/* These fill the answer. */
void cloud_launch_effect(struct cloud *cloud, struct cloud_call *call);
void cloud_terminate_effect(struct cloud *cloud, struct cloud_call *call);
void cloud_list_effect(struct cloud *cloud, struct cloud_call *call);

/* Up to listing_lag, 0 while that class of faults is off. */
static inline int64_t cloud_lag(struct cloud *cloud)
{
    if (!fault_strikes(cloud->faults, FAULT_listing_lag, &cloud->dice)) {
        return 0;
    }
    return dice_between(&cloud->dice, 0, cloud->faults->listing_lag);
}
