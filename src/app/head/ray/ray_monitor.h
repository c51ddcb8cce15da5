/* ray_monitor.h: Ray's own autoscaler on this machine. Two of them would undo each other's work. */
#pragma once

/* The process id of a monitor that was given a configuration, and so acts; 0: none. */
int ray_monitor_find(void);
