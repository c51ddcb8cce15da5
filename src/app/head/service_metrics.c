/*
 * service_metrics.c: serves metrics to Prometheus.
 *
 * Everything but the counters is collected only when requested.
 */
#include "app/head/metrics/metrics_port.h"
#include "app/head/service_internal.h"
#include "io/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct metrics_site {
    struct metrics_port *port;
    const char *address;
    uint16_t number;  /* of the port; 0 until it is open */
    int64_t began_ms; /* wall clock */
    int64_t paid_ms;  /* monotonic; costs are counted up to here */
};

/* ---- content ---- */

struct service_metrics_gathering {
    struct arena *arena;
    struct node_view *views;
    size_t count, capacity;
};

static void service_metrics_take_view(void *context, const struct node_view *view)
{
    struct service_metrics_gathering *gathering = context;
    arena_grow(gathering->arena, (void **)&gathering->views, gathering->count, &gathering->capacity,
               sizeof(*gathering->views));
    gathering->views[gathering->count++] = *view;
}

/* Counts the time since the last scrape at the current price. */
static void count_spent(struct service *service, const struct cluster_status *cluster_status)
{
    struct metrics_site *site = service->metrics_site;
    int64_t now_ms = loop_now_ms(service->session.loop);
    metrics_count_spent(&service->metrics, cluster_status->price, now_ms - site->paid_ms);
    site->paid_ms = now_ms;
}

static void write_metrics(void *context, struct buf *out)
{
    struct service *service = context;
    struct arena arena;
    struct cluster_status cluster_status = {0};
    struct ctl_server_hooks hooks = {0};
    arena_init(&arena);
    struct service_metrics_gathering gathering = {.arena = &arena};
    service_answers(&hooks);
    service_cluster_status(service, &arena, &cluster_status);
    hooks.each(service, &arena, service_metrics_take_view, &gathering);
    count_spent(service, &cluster_status);
    service->metrics.failed_polls = (uint64_t)gcs_poller_figures(service->ray).failed;
    struct metrics_scene scene = {
        .counts = &service->metrics,
        .config = service->config,
        .cluster_status = cluster_status.seen_ms > 0 ? &cluster_status : NULL,
        .nodes = gathering.views,
        .node_count = gathering.count,
        .cluster = service->config->cluster_name,
        .ray_version = gcs_poller_version(service->ray),
        .session = ray_view_session(service->mirror),
        .is_acting = service->controller && service->is_leading,
        .is_recording = journal_trouble(service->journal).len == 0,
        .now_ms = clock_wall_ms(loop_clock(service->session.loop)),
        .process = process_facts_now(service->metrics_site->began_ms),
    };
    metrics_write(out, &scene);
    arena_clear(&arena);
}

/* ---- address ---- */

static void service_metrics_on_notified(void *context, const struct gcs_answer *answer)
{
    struct service *service = context;
    if (answer->trouble != GCS_FINE) { /* retried when Ray answers again */
        LOG(service, WARNING, "cannot register the metrics address with Ray: %s", answer->err.text);
    }
}

/* A wildcard address is replaced by the head's private address. */
void service_metrics_tell(struct service *service)
{
    const struct metrics_site *site = service->metrics_site;
    struct gcs *gcs = gcs_poller_gcs(service->ray);
    struct arena arena;
    if (!site || site->number == 0 || !gcs || service_ray_scales(service)) {
        return;
    }
    arena_init(&arena);
    struct str host = str_from(site->address);
    bool is_any = str_is(host, "0.0.0.0") || str_is(host, "::");
    host = is_any ? service->handover.head_private_ip : host;
    bool has_colon = str_find_char(host, ':') != SIZE_MAX;
    gcs_note_metrics(gcs,
                     arena_printf(&arena, "%s%.*s%s:%u", has_colon ? "[" : "", STR_ARG(host),
                                  has_colon ? "]" : "", site->number),
                     service_metrics_on_notified, service);
    arena_clear(&arena);
}

static void on_listening(void *context, uint16_t port)
{
    struct service *service = context;
    service->metrics_site->number = port;
    LOG(service, INFO, "metrics address=%s port=%u", service->metrics_site->address, port);
    service_metrics_tell(service);
}

static void service_metrics_on_error(void *context, const struct err *err)
{
    struct service *service = context;
    LOG(service, WARNING, "metrics are not available yet: %s", err->text);
}

/* AUTOSCALER_METRIC_PORT is Ray's variable. */
static uint16_t port_number(void)
{
    uint32_t number;
    const char *given = getenv("AUTOSCALER_METRIC_PORT");
    bool is_number = given && str_to_u32(str_from(given), &number) && number <= UINT16_MAX;
    return is_number ? (uint16_t)number : METRICS_PORT;
}

void service_open_metrics(struct service *service)
{
    struct str address = value_text(value_get_c(service->config->shoal, "metrics_address"));
    address = address.len > 0 ? address : STR("127.0.0.1");
    if (str_is(address, "none")) {
        return;
    }
    struct metrics_site *site = HEAP_NEW(struct metrics_site);
    service->metrics_site = site;
    site->address = arena_str(&service->arena, address).ptr;
    site->began_ms = clock_wall_ms(loop_clock(service->session.loop));
    site->paid_ms = loop_now_ms(service->session.loop);
    site->port = metrics_port_open(&(struct metrics_port_setup){
        .loop = service->session.loop,
        .address = site->address,
        .port = port_number(),
        .context = service,
        .write = write_metrics,
        .listening = on_listening,
        .trouble = service_metrics_on_error,
    });
}

void service_close_metrics(struct service *service)
{
    if (service->metrics_site) {
        metrics_port_close(service->metrics_site->port);
        free(service->metrics_site);
        service->metrics_site = NULL;
    }
}

/* ---- counters ---- */

void service_count_launch(struct service *service, enum outcome outcome, size_t count, size_t came,
                          int64_t took_ms)
{
    bool is_done = outcome == OUTCOME_DONE;
    metrics_count_launch(&service->metrics, outcome, (int64_t)(is_done ? came : count), took_ms);
}

/* The duration is known only for a first setup, from the core's state. */
void service_count_set_up(struct service *service, uint64_t instance, enum setup_news news)
{
    struct managed_node managed_node;
    bool is_known = controller_find(service->controller, instance, &managed_node) &&
                    managed_node.node;
    bool is_first = is_known && managed_node.node->state == NODE_SETTING_UP;
    if (news != SETUP_CONTACT) {
        metrics_count_set_up(
            &service->metrics, news == SETUP_DONE,
            is_first ? loop_now_ms(service->session.loop) - managed_node.node->since : 0);
    }
}
