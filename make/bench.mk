# Benchmarks: other programs doing the same work in one run with ours, reading files, kernels, and the official networks.
BENCHES := $(patsubst tests/bench/%.cpp,$(OUT)/%,$(wildcard tests/bench/*_bench.cpp))
PEERS   := $(patsubst tests/peers/%.cpp,$(OUT)/%,$(wildcard tests/peers/*_peer.cpp))
$(BENCHES): $(OUT)/%: $(OUT)/tests/bench/%.o $(LIBRARY)
	$(call link)
$(PEERS): $(OUT)/%: $(OUT)/tests/peers/%.o $(LIBRARY)
	$(call link,-lgraphblas)
$(PEERS:$(OUT)/%=$(OUT)/tests/peers/%.o): | build/.deps-BENCH

.PHONY: bench kernel-bench bench-gpu suite-report results scaling
# MNIST's training images, if they are at hand.
found_mnist = $(shell MNIST='$(MNIST)' data_scripts/mnist.sh)
##   bench                        reading files, and LAGraph's GraphBLAS beside our CPU engine
bench: $(OUT)/io_bench $(OUT)/graphblas_peer
	./$(OUT)/io_bench
	./$(OUT)/graphblas_peer 1024 120 60000 3 $(found_mnist)

##   kernel-bench                 builds the program that times and checks every tile shape of the kernels, for tuning
kernel-bench: $(OUT)/kernel_bench

##   bench-gpu                    spdnn bench suite on a GPU: JSON lines for results/, with BENCH_LINES=, BENCH_OPTIONS=
BENCH_LINES   ?= build/bench-gpu.jsonl
BENCH_OPTIONS ?= --limit 60 --budget 1500
bench-gpu: $(READY)
	@$(PROGRAM) bench suite --device cuda $(if $(found_mnist),--mnist $(found_mnist)) --scratch build/bench-gpu --json $(BENCH_LINES) $(BENCH_OPTIONS)

##   suite-report                 a small suite on this machine and its report, build/suite/report.html; SUITE_OPTIONS=
SUITE_OPTIONS  ?= --neurons 1024 --layers 120 --reduce all --reduce dead --device cpu --variant cpu_openmp --trials 5
SUITE_BASELINE ?= cpu_openmp
suite-report: build/spdnn
	@mkdir -p build/suite
	@$< bench suite $(SUITE_OPTIONS) $(if $(found_mnist),--mnist $(found_mnist),--images 2000 --verify 2000) --scratch build/suite --json build/suite/lines.jsonl
	@$< report build/suite/lines.jsonl --baseline $(SUITE_BASELINE) --baseline results/baselines.csv --title 'A small suite' --out build/suite/report.html
	@echo 'open build/suite/report.html'

##   results                      tables.md of the JSON lines of each directory in results/, and build/results/*.html with charts
results: build/spdnn
	@./tests/report/make_results.sh $<

##   scaling                      the page of results/*/scaling.jsonl, with a model fitted to it and a plot
scaling: build/.deps-BENCH # Debian's Python, which is the one that has Debian's Matplotlib
	@$(foreach lines,$(wildcard results/*/scaling.jsonl),/usr/bin/python3 -B tests/bench/scaling_page.py --plot $(dir $(lines)) &&) true
