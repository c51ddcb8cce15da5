/* fuzz_agent_report.c: any bytes as a line that an agent sends to its trainer. */
#include "fuzz.h"

#include "app/train/agent_report.h"
#include "app/train/train_progress.h"
#include "core/train/job.h"

static bool is_number(int64_t value, int64_t most)
{
    return value >= 0 && value <= most;
}

static bool is_time(double value)
{
    return value >= 0 && value <= AGENT_TIME_MAX;
}

static void check_report(const struct agent_report *report, struct str bytes)
{
    const struct step_counts *counts = &report->counts;
    if (report->kind >= AGENT_REPORT_KINDS) {
        fuzz_fail("the kind is known", bytes);
    }
    if (!is_number(report->port, UINT16_MAX) || !is_number(report->state_port, UINT16_MAX)) {
        fuzz_fail("ports are ports", bytes);
    }
    if (!is_number(report->generation, AGENT_GENERATION_MAX) ||
        !is_number(report->rank, TRAIN_SLOTS_MAX) || !is_number(report->parts, TRAIN_SLOTS_MAX) ||
        !is_number(report->checkpoint, AGENT_CHECKPOINT_MAX) ||
        !is_number(report->complete, AGENT_CHECKPOINT_MAX) ||
        !is_number(report->number, AGENT_CHECKPOINT_MAX) ||
        !is_number(report->bad, AGENT_CHECKPOINT_MAX) || !is_number(report->load_ms, INT32_MAX) ||
        !is_number(counts->steps, TRAIN_STEPS_MAX) || report->code < 0 || report->signal < 0) {
        fuzz_fail("numbers have limits", bytes);
    }
    if (!is_time(counts->first) || !is_time(counts->last) || !is_time(counts->begun) ||
        !is_time(counts->joined)) {
        fuzz_fail("times have limits", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct agent_report report;
    struct err err = {0};
    if (agent_report_read(bytes, &arena, &report, &err)) {
        check_report(&report, bytes);
    } else if (err.kind != ERR_PROTOCOL) {
        fuzz_fail("a refusal says why", bytes);
    }
    return 0;
}
