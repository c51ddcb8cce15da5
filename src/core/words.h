/*
 * words.h: times, money, amounts and names as people write them.
 *
 * Names come from outside; here they lose control characters and what is too long for a line, so
 * that a text stays one line whatever somebody called his resources. Everything lives in `arena`.
 */
#pragma once

#include "core/demand.h"

/* A moment or span in seconds: "12.500". */
struct str words_seconds(int64_t ms, struct arena *arena);

/* A span in its two largest units: "5 min 10 s", "2 h", "850 ms". */
struct str words_span(int64_t ms, struct arena *arena);

/* Micro-dollars per hour: "$1.006/h". */
struct str words_price(int64_t price, struct arena *arena);

/* Ten-thousandths: "4", "0.5"; bytes of memory as "64 GiB". */
struct str words_amount(struct str name, int64_t amount, struct arena *arena);

/* With its name: "4x CPU", "64 GiB memory". */
struct str words_amount_of(struct str name, int64_t amount, struct arena *arena);

struct str words_plain(struct str text, struct arena *arena);
struct str words_name(const struct names *names, uint32_t name, struct arena *arena);

/* "1x CPU, 2x GPU with zone in (a, b) or 1 fallback, apart by group" */
struct str words_request(const struct names *names, const struct request *request,
                         struct arena *arena);
