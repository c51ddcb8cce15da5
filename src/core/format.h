/*
 * format.h: formats times, prices, amounts and names for users.
 *
 * Names are untrusted: control characters are removed and long names are cut, so that the result is
 * always one line. Strings live in `arena`.
 */
#pragma once

#include "core/demand.h"

/* A time or duration in seconds: "12.500". */
struct str format_seconds(int64_t ms, struct arena *arena);

/* A duration in its two largest units: "5 min 10 s", "2 h", "850 ms". */
struct str format_span(int64_t ms, struct arena *arena);

/* Micro-dollars per hour: "$1.006/h". */
struct str format_price(int64_t price, struct arena *arena);

/* Ten-thousandths: "4", "0.5"; bytes of memory as "64 GiB". */
struct str format_amount(struct str name, int64_t amount, struct arena *arena);

/* With its name: "4x CPU", "64 GiB memory". */
struct str format_amount_of(struct str name, int64_t amount, struct arena *arena);

struct str format_plain(struct str text, struct arena *arena);
struct str format_name(const struct names *names, uint32_t name, struct arena *arena);

/* "1x CPU, 2x GPU with zone in (a, b) or 1 fallback, apart by group" */
struct str format_request(const struct names *names, const struct request *request,
                          struct arena *arena);
