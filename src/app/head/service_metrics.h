/* service_metrics.h: serves metrics to Prometheus. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/ray_autoscaler.h"

struct metrics_site;

struct metrics_site_setup {
    struct head_context *head;
    const struct ray_autoscaler *ray_autoscaler; /* an active one registers its own address */
    /* Sets the status of the cluster and its nodes, in `arena`. */
    void (*fill)(void *context, struct arena *arena, struct metrics_scene *scene);
    void *context;
};

/* NULL if metrics are off. */
struct metrics_site *metrics_site_open(const struct metrics_site_setup *setup);
void metrics_site_close(struct metrics_site *site); /* NULL is fine */
/* Registers the metrics address with Ray, after each connect. NULL is fine. */
void metrics_site_register(struct metrics_site *site);
