/*
 * fuzz.h: what the fuzz targets share.
 *
 * A target is one function that is given bytes and must come back: whatever the bytes are, nothing
 * may crash, leak, hang, or break a promise of a header. Linked with libFuzzer it is searched for
 * such bytes; linked with replay_main.c it runs over a folder of files.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Set to time the code and not its test: then a target does what the program would do with the
 * input (read, check, mask, write once as JSON and once as YAML) and checks no promises.
 */
extern bool fuzz_is_timed;

/* A promise was broken: says which one and ends the program. */
NO_RETURN void fuzz_fail(const char *promise, struct str evidence);

/* The input as a file. Not terminated, so that a read past its end is seen. */
struct source fuzz_source(const uint8_t *data, size_t size);

/* JSON in every style: only JSON_SORTED may fail, and the rest is valid UTF-8. */
void fuzz_check_json(const struct value *tree);

/* Written as YAML and read again it is the same, unless it has become too large to be read. */
void fuzz_check_round_trip(struct arena *arena, const struct value *tree);

/* Findings as a terminal gets them: no control characters, each with the line it is about. */
void fuzz_check_findings(struct diag_list *diags);
