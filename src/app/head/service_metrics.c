/*
 * service_metrics.c: serves metrics to Prometheus.
 *
 * Everything but the counters is collected only when requested.
 */
#include "app/head/service_metrics.h"

#include "app/head/metrics/metrics_port.h"
#include "io/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct metrics_site {
    struct metrics_site_setup setup;
    struct head_context *head;
    struct metrics_port *port;
    const char *address;
    uint16_t number;  /* port number; 0 until it is open */
    int64_t began_ms; /* wall clock */
    int64_t paid_ms;  /* monotonic; costs are counted up to here */
};

/* ---- content ---- */

/* Counts the time since the last scrape at the current price. */
static void count_spent(struct metrics_site *site, int64_t price)
{
    int64_t now_ms = loop_now_ms(site->head->session.loop);
    metrics_count_spent(&site->head->metrics, price, now_ms - site->paid_ms);
    site->paid_ms = now_ms;
}

static void write_metrics(void *context, struct buf *out)
{
    struct metrics_site *site = context;
    struct head_context *head = site->head;
    struct arena arena;
    arena_init(&arena);
    struct metrics_scene scene = {
        .counts = &head->metrics,
        .config = head->config,
        .cluster = head->config->cluster_name,
        .ray_version = gcs_poller_version(head->ray.poller),
        .session = ray_view_session(head->ray.view),
        .is_acting = head->controller && head->is_leading,
        .is_recording = journal_trouble(head->journal).len == 0,
        .now_ms = clock_wall_ms(loop_clock(head->session.loop)),
        .process = process_facts_now(site->began_ms),
    };
    site->setup.fill(site->setup.context, &arena, &scene);
    count_spent(site, scene.cluster_status->price);
    if (scene.cluster_status->seen_ms == 0) {
        scene.cluster_status = NULL; /* Ray was never seen */
    }
    head->metrics.failed_polls = (uint64_t)gcs_poller_figures(head->ray.poller).failed;
    metrics_write(out, &scene);
    arena_clear(&arena);
}

/* ---- address ---- */

static void service_metrics_on_notified(void *context, const struct gcs_answer *answer)
{
    const struct metrics_site *site = context;
    if (answer->trouble != GCS_FINE) { /* retried when Ray answers again */
        LOG(site->head, WARNING, "cannot register the metrics address with Ray: %s",
            answer->err.text);
    }
}

/* A wildcard address is replaced by the head's private address. */
void metrics_site_register(struct metrics_site *site)
{
    struct gcs *gcs = site ? gcs_poller_gcs(site->head->ray.poller) : NULL;
    struct arena arena;
    if (!gcs || site->number == 0 || ray_autoscaler_is_active(site->setup.ray_autoscaler)) {
        return;
    }
    arena_init(&arena);
    struct str host = str_from(site->address);
    bool is_any = str_is(host, "0.0.0.0") || str_is(host, "::");
    host = is_any ? site->head->handover.head_private_ip : host;
    bool has_colon = str_find_char(host, ':') != SIZE_MAX;
    gcs_note_metrics(gcs,
                     arena_printf(&arena, "%s%.*s%s:%u", has_colon ? "[" : "", STR_ARG(host),
                                  has_colon ? "]" : "", site->number),
                     service_metrics_on_notified, site);
    arena_clear(&arena);
}

static void on_listening(void *context, uint16_t port)
{
    struct metrics_site *site = context;
    site->number = port;
    LOG(site->head, INFO, "metrics address=%s port=%u", site->address, port);
    metrics_site_register(site);
}

static void service_metrics_on_error(void *context, const struct err *err)
{
    const struct metrics_site *site = context;
    LOG(site->head, WARNING, "metrics are not available yet: %s", err->text);
}

/* AUTOSCALER_METRIC_PORT is Ray's variable. */
static uint16_t port_number(void)
{
    uint32_t number;
    const char *given = getenv("AUTOSCALER_METRIC_PORT");
    bool is_number = given && str_to_u32(str_from(given), &number) && number <= UINT16_MAX;
    return is_number ? (uint16_t)number : METRICS_PORT;
}

struct metrics_site *metrics_site_open(const struct metrics_site_setup *setup)
{
    struct head_context *head = setup->head;
    struct str address = value_text(value_get_c(head->config->shoal, "metrics_address"));
    address = address.len > 0 ? address : STR("127.0.0.1");
    if (str_is(address, "none")) {
        return NULL;
    }
    struct metrics_site *site = HEAP_NEW(struct metrics_site);
    site->setup = *setup;
    site->head = head;
    site->address = arena_str(&head->arena, address).ptr;
    site->began_ms = clock_wall_ms(loop_clock(head->session.loop));
    site->paid_ms = loop_now_ms(head->session.loop);
    site->port = metrics_port_open(&(struct metrics_port_setup){
        .loop = head->session.loop,
        .address = site->address,
        .port = port_number(),
        .context = site,
        .write = write_metrics,
        .listening = on_listening,
        .trouble = service_metrics_on_error,
    });
    return site;
}

void metrics_site_close(struct metrics_site *site)
{
    if (site) {
        metrics_port_close(site->port);
        free(site);
    }
}
