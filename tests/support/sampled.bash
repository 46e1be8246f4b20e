# shellcheck shell=bash
# Loaded by tests that repeat themselves: in full where SPDNN_TEST_LONG is set, as by `make test-long`; a sample otherwise.

in_full() { [ -n "${SPDNN_TEST_LONG:-}" ]; }

# sampled FEW ALL: a number of repetitions, a size, or words to loop over.
sampled() { if in_full; then echo "$2"; else echo "$1"; fi; }
