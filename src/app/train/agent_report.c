/* agent_report.c: reads a line that an agent sends to its trainer. */
#include "app/train/agent_report.h"

#include "app/train/train_progress.h"
#include "io/json_line.h"

#include <math.h>

static const char *const report_words[AGENT_REPORT_KINDS] = {
    [AGENT_HELLO] = "hello",       [AGENT_STEPS] = "steps",
    [AGENT_RETURNED] = "returned", [AGENT_CHECKPOINT] = "checkpoint",
    [AGENT_PREPARED] = "prepared", [AGENT_STARTED] = "started",
    [AGENT_LEAVING] = "leaving",   [AGENT_NOT_COPIED] = "not_copied",
    [AGENT_DURABLE] = "durable",   [AGENT_TROUBLE] = "trouble",
    [AGENT_FOREIGN] = "foreign",
};

static enum agent_report_kind report_kind(const json_t *message, struct arena *arena)
{
    struct str type = json_take_text(message, "type", arena);
    for (size_t i = AGENT_HELLO; i < AGENT_REPORT_KINDS; i++) {
        if (str_is(type, report_words[i])) {
            return (enum agent_report_kind)i;
        }
    }
    return AGENT_UNKNOWN;
}

static double report_time(const json_t *message, const char *name)
{
    double time = json_number_value(json_object_get(message, name));
    return fmin(fmax(time, 0), AGENT_TIME_MAX);
}

static int64_t report_checkpoint(const json_t *message, const char *name)
{
    return json_take_number(message, name, 0, AGENT_CHECKPOINT_MAX);
}

static bool report_flag(const json_t *message, const char *name)
{
    return json_is_true(json_object_get(message, name));
}

bool agent_report_read(struct str line, struct arena *arena, struct agent_report *ret_report,
                       struct err *err)
{
    json_t *message;
    if (!json_line_read(line, "a message of an agent", &message, err)) {
        return false;
    }
    *ret_report = (struct agent_report){
        .kind = report_kind(message, arena),
        .slot = (uint32_t)json_take_number(message, "slot", 0, UINT32_MAX),
        .state_port = json_take_number(message, "state_port", 0, UINT16_MAX),
        .port = json_take_number(message, "port", 0, UINT16_MAX),
        .generation = json_take_number(message, "generation", 0, AGENT_GENERATION_MAX),
        .rank = json_take_number(message, "rank", 0, TRAIN_SLOTS_MAX),
        .parts = json_take_number(message, "parts", 0, TRAIN_SLOTS_MAX),
        .checkpoint = report_checkpoint(message, "checkpoint"),
        .complete = report_checkpoint(message, "complete"),
        .number = report_checkpoint(message, "number"),
        .bad = report_checkpoint(message, "bad"),
        .highest = report_checkpoint(message, "highest"),
        .load_ms = json_take_number(message, "load_ms", 0, INT32_MAX),
        .code = (int)json_take_number(message, "code", 0, INT32_MAX),
        .signal = (int)json_take_number(message, "signal", 0, INT32_MAX),
        .is_prepared = report_flag(message, "is_prepared"),
        .is_running = report_flag(message, "is_running"),
        .is_returned = report_flag(message, "is_returned"),
        .counts = {.steps = json_take_number(message, "steps", 0, TRAIN_STEPS_MAX),
                   .first = report_time(message, "first"),
                   .last = report_time(message, "last"),
                   .begun = report_time(message, "begun"),
                   .joined = report_time(message, "joined")},
        .mac = json_take_text(message, "mac", arena),
        .nonce = json_take_text(message, "nonce", arena),
        .tail = json_take_text(message, "tail", arena),
        .what = json_take_text(message, "what", arena),
        .reason = json_take_text(message, "reason", arena),
    };
    json_decref(message);
    return true;
}
