"""As periodic.py, but one rank of one generation stops before a given step and waits for ever."""

import os
import time

import periodic

if __name__ == "__main__":
    parser = periodic.parser()
    parser.add_argument("--hang-step", type=int, default=30)
    parser.add_argument("--hang-rank", type=int, default=1)
    parser.add_argument("--hang-generation", type=int, default=1)
    options = parser.parse_args()

    def wait_for_ever(rank, step):
        generation = int(os.environ.get("SHOAL_GENERATION", 0))
        if (generation, rank, step) == (options.hang_generation, options.hang_rank,
                                        options.hang_step):
            time.sleep(1000000)

    periodic.train(options, wait_for_ever)
