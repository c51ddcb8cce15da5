/* live_scene.h: a head and two workers that are starting, for tests of the progress display. */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/model/node_view.h"
#include "provider/price.h"

#define SCENE_NOW_MS 1794738600000LL /* 2026-11-15T10:30:00Z */

static const struct node_view scene_nodes[] = {
    {.name = {"head", 4},
     .id = {"i-0f2ab34cd56ef7890", 19},
     .type = {"ray.head.default", 16},
     .machine = {"m5.large", 8},
     .public_ip = {"198.51.100.7", 12},
     .private_ip = {"10.0.0.4", 8},
     .is_head = true,
     .phase = PHASE_READY,
     .requested_ms = SCENE_NOW_MS - 40000,
     .since_ms = SCENE_NOW_MS - 9000,
     .price = 96000},
    {.name = {"worker-1", 8},
     .id = {"i-0b7", 5},
     .type = {"cpu", 3},
     .machine = {"m5.large", 8},
     .is_spot = true,
     .phase = PHASE_SETTING_UP,
     .requested_ms = SCENE_NOW_MS - 24000,
     .since_ms = SCENE_NOW_MS - 5000,
     .step = 3,
     .steps = 5,
     .detail = {"pip install -r requirements.txt", 31},
     .price = 39000},
    {.name = {"worker-2", 8},
     .id = {"i-0c1", 5},
     .type = {"cpu", 3},
     .machine = {"m5.large", 8},
     .is_spot = true,
     .phase = PHASE_FAILED,
     .requested_ms = SCENE_NOW_MS - 24000,
     .since_ms = SCENE_NOW_MS - 2000,
     .price = 39000,
     .reason = {"ended", 5},
     .failure = {.step = {"setup command 3 of 5", 20},
                 .command = {"pip install torch==9.9", 22},
                 .path = {"setup_commands[1]", 17},
                 .said = {"Collecting torch\nERROR: No matching distribution", 48},
                 .status = 1}},
};

static const struct ctl_status scene_status = {
    .ray_version = {"2.60.0", 6}, .ray_address = {"10.0.0.4:6379", 13}, .joined = 1, .wanted = 3};
