# Benchmarks: other programs beside ours in one run, file readers, kernels, and the official networks.
BENCHES := $(patsubst tests/bench/%.cpp,$(OUT)/%,$(wildcard tests/bench/*_bench.cpp))
PEERS   := $(patsubst tests/peers/%.cpp,$(OUT)/%,$(wildcard tests/peers/*_peer.cpp))
$(BENCHES): $(OUT)/%: $(OUT)/tests/bench/%.o $(LIBRARY)
	$(call link)
$(PEERS): $(OUT)/%: $(OUT)/tests/peers/%.o $(LIBRARY)
	$(call link,-lgraphblas)
$(PEERS:$(OUT)/%=$(OUT)/tests/peers/%.o): | build/.deps-BENCH

.PHONY: bench kernel-bench bench-gpu suite-report results scaling
# The path of MNIST's training images, or empty.
found_mnist = $(shell MNIST='$(MNIST)' data_scripts/mnist.sh)
##   bench                        times file readers, and LAGraph's GraphBLAS beside our CPU engine
bench: $(OUT)/io_bench $(OUT)/graphblas_peer
	./$(OUT)/io_bench
	./$(OUT)/graphblas_peer 1024 120 60000 3 $(found_mnist)

##   kernel-bench                 builds the tuning program that times and checks every tile shape of the kernels
kernel-bench: $(OUT)/kernel_bench

##   bench-gpu                    runs spdnn bench suite on a GPU: JSON lines for results/; BENCH_LINES=, BENCH_OPTIONS=
BENCH_LINES   ?= build/bench-gpu.jsonl
BENCH_OPTIONS ?= --limit 60 --budget 1500
bench-gpu: $(READY)
	@$(PROGRAM) bench suite --device cuda $(if $(found_mnist),--mnist $(found_mnist)) --scratch build/bench-gpu --json $(BENCH_LINES) $(BENCH_OPTIONS)

##   suite-report                 runs a small suite on this machine and makes build/suite/report.html; SUITE_OPTIONS=
SUITE_OPTIONS  ?= --neurons 1024 --layers 120 --reduce all --reduce dead --device cpu --variant cpu_openmp --trials 5
SUITE_BASELINE ?= cpu_openmp
suite-report: build/spdnn
	@mkdir -p build/suite
	@$< bench suite $(SUITE_OPTIONS) $(if $(found_mnist),--mnist $(found_mnist),--images 2000 --verify 2000) --scratch build/suite --json build/suite/lines.jsonl
	@$< report build/suite/lines.jsonl --baseline $(SUITE_BASELINE) --baseline results/baselines.csv --title 'A small suite' --out build/suite/report.html
	@echo 'open build/suite/report.html'

##   results                      makes results/*/tables.md from the JSON lines beside it, and build/results/*.html with charts
results: build/spdnn
	@./tests/report/make_results.sh $<

##   scaling                      makes the page and the plot of results/*/scaling.jsonl, with a fitted model
scaling: build/.deps-BENCH # Debian's Python, because Matplotlib is Debian's
	@$(foreach lines,$(wildcard results/*/scaling.jsonl),/usr/bin/python3 -B tests/bench/scaling_page.py --plot $(dir $(lines)) &&) true
