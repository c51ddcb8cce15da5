/* fuzz_sched_hints.c: any bytes as the hints of AdaptDL, and what the model makes of them. */
#include "fuzz.h"

#include "app/train/sched_hints.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    struct sched_hints hints;
    struct err err = {0};
    if (!sched_hints_read(bytes, &hints, &err)) {
        if (err.kind != ERR_PROTOCOL) {
            fuzz_fail("a refusal says why", bytes);
        }
        return 0;
    }
    for (int64_t n = 1; n <= 64; n *= 4) {
        struct batch_choice choice = goodput_optimize(&hints.model, &hints.limits,
                                                      (struct placement_size){n, n});
        if (!(choice.goodput >= 0) || !isfinite(choice.goodput)) {
            fuzz_fail("goodput is a number", bytes);
        }
    }
    return 0;
}
