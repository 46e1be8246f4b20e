# spdnn: build, test, demo. `make help` lists the targets and options.
VERSION := 0.1.0
BUILD   ?= release
GPU     ?= auto
CUDA    ?= /usr/local/cuda
ARCH    ?= 80 90

# Debian packages, the one place where they are declared: what the program is built with, what its tests run with, and
# what the peers of `make bench` need.
BUILD_PACKAGES := g++ libboost-program-options-dev libfmt-dev libfftw3-dev libmd-dev libxxhash-dev nlohmann-json3-dev zlib1g-dev
TEST_PACKAGES  := $(BUILD_PACKAGES) libgtest-dev bats jq curl ca-certificates python3 xz-utils
LINT_PACKAGES  := clang-format clang-tidy shellcheck
FUZZ_PACKAGES  := $(TEST_PACKAGES) clang libclang-rt-dev libomp-dev
BENCH_PACKAGES := $(BUILD_PACKAGES) libgraphblas-dev

# Tests that need no GPU, lint and sanitizers take the program without CUDA, unless GPU= is given.
HOST_GPU     := $(if $(filter command,$(firstword $(origin GPU))),$(GPU),0)
CUDA_SOURCES := $(shell find src -name '*.cu' | LC_ALL=C sort)
NVCC         := $(firstword $(wildcard $(CUDA)/bin/nvcc) $(shell command -v nvcc))
ifeq ($(GPU),auto)
  override GPU := $(if $(and $(NVCC),$(CUDA_SOURCES)),1,0)
endif

OUT := build/$(BUILD)$(if $(filter 1,$(GPU)),-cuda)$(if $(filter 1,$(PORTABLE)),-portable)

CXX      ?= g++
CXXFLAGS := -std=c++20 -fopenmp -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict -Wno-stringop-overflow
# STRICT=1 (the default on CI): warnings are errors. -Wno-restrict, -Wno-stringop-overflow: false alarms of GCC 12 on
# std::string and fmt.
ifeq ($(or $(STRICT),$(if $(CI),1)),1)
  CXXFLAGS += -Werror
endif
CPPFLAGS := -Iinclude -Isrc -I$(OUT)/generated -MMD -MP
LDLIBS   := -lboost_program_options -lfmt -lfftw3 -lmd -lz -lxxhash
# PORTABLE=1: runs on machines that have a C++ runtime, and CUDA where asked for, but none of these libraries.
ifeq ($(PORTABLE),1)
  CPPFLAGS += -DFMT_HEADER_ONLY
  LDLIBS   := -Wl,-Bstatic -lboost_program_options -lfftw3 -lmd -lz -lxxhash -Wl,-Bdynamic -ldl -lpthread
endif
ifeq ($(BUILD),release)
  CXXFLAGS += -O3
else ifeq ($(BUILD),debug)
  CXXFLAGS += -O0 -g
else ifeq ($(BUILD),asan)
  CXXFLAGS += -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
  $(error BUILD=$(BUILD): expected release, debug or asan)
endif

# What the CUDA engines do on the host alone is compiled, and tested, without CUDA too.
HOST_HALVES  := $(addprefix src/engines/cuda/,cascade/program.cpp layers/library_plan.cpp resident/layout.cpp resident/rounds.cpp spmm/work_items.cpp)
HOST_SOURCES := $(sort $(HOST_HALVES) $(shell find src -name '*.cpp' ! -name main.cpp ! -path '*/cuda/*'))
SOURCES      := $(HOST_SOURCES)
OBJECTS   := $(SOURCES:%.cpp=$(OUT)/%.o)
LIBRARY   := $(OUT)/libspdnn.a
PROGRAM   := $(OUT)/spdnn
UNIT_TESTS := $(OUT)/spdnn_tests
UNIT_OBJECTS := $(patsubst %.cpp,$(OUT)/%.o,$(shell find tests/unit -name '*.cpp' | LC_ALL=C sort))
# Kernels run on the CPU: what they include of CUDA is found in tests/emulation first. Not beside kernels for a device, nor
# with AddressSanitizer, which does not know of fibers.
EMULATED_OBJECTS := $(patsubst %.cpp,$(OUT)/%.o,$(shell find tests/emulation -name '*.cpp' | LC_ALL=C sort))
EMULATED_OBJECTS := $(if $(filter 1-% %-asan,$(GPU)-$(BUILD)),,$(EMULATED_OBJECTS))
GPU_TESTS    := $(OUT)/spdnn_gpu_tests
GPU_OBJECTS  := $(patsubst %.cpp,$(OUT)/%.o,$(shell find tests/gpu -name '*.cpp' | LC_ALL=C sort))
GPU_OBJECTS  += $(patsubst %,$(OUT)/tests/unit/engines_%_test.o,battery properties)
SCRIPTS   := $(shell find tests data_scripts .ci -type f \( -name '*.sh' -o -name '*.bash' -o -name run \) | LC_ALL=C sort)
FORMATTED := $(shell find src include tests \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)

ifeq ($(GPU),1)
  ifeq ($(NVCC),)
    $(error GPU=1, but nvcc was not found; set CUDA=/path/to/cuda or GPU=0)
  endif
  CPPFLAGS += -DSPDNN_WITH_CUDA -isystem $(CUDA)/include
  GENCODE  := $(foreach arch,$(ARCH),-gencode arch=compute_$(arch),code=sm_$(arch))
  NVCCFLAGS := -std=c++20 -O3 -lineinfo $(GENCODE) -Xcompiler -Wall,-fopenmp --expt-relaxed-constexpr
  SOURCES  := $(sort $(HOST_SOURCES) $(shell find src -path '*/cuda/*.cpp'))
  OBJECTS  := $(SOURCES:%.cpp=$(OUT)/%.o) $(CUDA_SOURCES:%.cu=$(OUT)/%.cu.o)
  LDLIBS   += -L$(CUDA)/lib64 -lcudart_static -ldl -lrt -lpthread -Wl,-rpath,$(CUDA)/lib64
endif

.PHONY: io-bench all deps demo test run-tests hostile run-hostile mutants gpu-tests test-gpu sanitize-gpu test-mpi lint run-lint format format-check sanitize bench \
	kernel-bench bench-gpu results \
	clean help
.DELETE_ON_ERROR:
all: build/spdnn

help:
	@echo 'targets: all (default) deps demo test hostile mutants test-gpu sanitize-gpu test-mpi lint format format-check sanitize fuzz bench bench-gpu results clean help'
	@echo 'options: GPU=0|1|auto   ARCH="80 90"   BUILD=release|debug|asan   CUDA=/path/to/cuda   PORTABLE=1   MNIST=/path/to/train-images-idx3-ubyte.gz   MUTANTS="NAME ..."   HOSTILE="--kills 500 --pairs 200 --readers 100"'

# ---- dependencies: a stamp per package list; missing ones are installed when we may ------------------------------
build/.deps-%: Makefile
	@mkdir -p build
	@./tests/tools/install_packages.sh $($*_PACKAGES)
	@touch $@
deps: build/.deps-BUILD build/.deps-TEST build/.deps-LINT

# ---- program ---------------------------------------------------------------------------------------------------
$(OUT)/%.o: %.cpp | build/.deps-BUILD
	@mkdir -p $(@D)
	@echo 'CXX  $<'
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@

$(OUT)/%.cu.o: %.cu | build/.deps-BUILD
	@mkdir -p $(@D)
	@echo 'NVCC $<'
	@$(NVCC) -Iinclude -Isrc -I$(OUT)/generated -DSPDNN_WITH_CUDA $(NVCCFLAGS) -MMD -MP -c $< -o $@

# One file for each instruction set that the CPU engine chooses from at run time; empty objects elsewhere.
ifneq ($(filter x86_64%,$(shell $(CXX) -dumpmachine 2>/dev/null)),)
$(OUT)/%_avx2.o: CXXFLAGS += -mavx2
$(OUT)/%_avx512.o: CXXFLAGS += -mavx512f -mavx512bw -mavx512dq -mavx512vl
endif

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$(PROGRAM): $(OUT)/src/main.o $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@

build/spdnn: $(PROGRAM)
	@ln -sfn $(patsubst build/%,%,$(PROGRAM)) $@

# The facts of this build, rewritten only when they change.
$(OUT)/src/core/build_info.o: $(OUT)/generated/build_values.hpp
$(OUT)/generated/build_values.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo '#define SPDNN_VERSION "$(VERSION)"'; \
	   echo "#define SPDNN_COMMIT \"$$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)\""; \
	   echo "#define SPDNN_DIRTY $$([ -z "$$(git status --porcelain --untracked-files=no 2>/dev/null)" ] && echo 0 || echo 1)"; \
	   echo '#define SPDNN_CUDA $(GPU)'; \
	   echo '#define SPDNN_ARCH "$(if $(filter 1,$(GPU)),$(ARCH))"'; } > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

demo: build/.deps-BUILD
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@./data_scripts/demo.sh build/spdnn build/demo $(MNIST)

# ---- tests -----------------------------------------------------------------------------------------------------
$(UNIT_OBJECTS) $(EMULATED_OBJECTS): CPPFLAGS += -Itests
# A jump from one fiber's stack to another's is no mistake.
$(EMULATED_OBJECTS): CPPFLAGS := -U_FORTIFY_SOURCE -Itests/emulation/include $(CPPFLAGS)
$(EMULATED_OBJECTS): CXXFLAGS += -fno-strict-aliasing -Wno-unknown-pragmas -Wno-conversion -Wno-shadow -Wno-pedantic
$(UNIT_OBJECTS) $(EMULATED_OBJECTS): | build/.deps-TEST
$(UNIT_TESTS): $(UNIT_OBJECTS) $(EMULATED_OBJECTS) $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -lgtest -lgtest_main -o $@

test: build/.deps-TEST
	@$(MAKE) --no-print-directory -j$$(nproc) GPU=$(HOST_GPU) run-tests
run-tests: $(PROGRAM) $(UNIT_TESTS)
	@./tests/run.sh $(UNIT_TESTS) $(PROGRAM)
# Does a test fail when the code is broken on purpose? MUTANTS: names of mutants, with * and ?; tests/mutants has them.
MUTANTS          ?= *
MUTANTS_MAY_LIVE ?= 0
mutants: build/.deps-TEST
	@CXX='$(CXX)' ./tests/mutants/run.py --may-live $(MUTANTS_MAY_LIVE) '$(MUTANTS)'

# Writers killed at random, writers and readers at once. Takes minutes; fewer with
# HOSTILE="--kills 60 --pairs 20 --readers 20".
hostile: build/.deps-TEST
	@$(MAKE) --no-print-directory -j$$(nproc) GPU=$(HOST_GPU) run-hostile
run-hostile: $(PROGRAM)
	@./tests/hostile/outputs.py $(PROGRAM) $(HOSTILE)
test-mpi:
	@echo 'This version has no MPI: there is nothing to test.'

# On the device. Tests skip, loudly, where there is none. compute-sanitizer looks for bad accesses and races in the tests
# that on_device.sh names, or those of SANITIZE_FILTER.
$(GPU_OBJECTS): CPPFLAGS += -Itests
$(GPU_OBJECTS): | build/.deps-TEST
$(GPU_TESTS): $(GPU_OBJECTS) $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -Wl,-Bstatic -lgtest -Wl,-Bdynamic -o $@

ifeq ($(GPU),1)
gpu-tests: $(GPU_TESTS)
test-gpu: $(GPU_TESTS)
	@$(GPU_TESTS)
sanitize-gpu: $(GPU_TESTS)
	@PATH="$(CUDA)/bin:$$PATH" ./tests/gpu/on_device.sh $(OUT) $(OUT)/on_device sanitize
else
gpu-tests test-gpu sanitize-gpu:
	@echo '$@ needs CUDA: install its toolkit or set CUDA=/path/to/cuda, then make $@ GPU=1' >&2; exit 2
endif

# Tuning of the CUDA kernels: times and checks every tile shape (GPU=1, and a GPU to run on); without CUDA, the CPU's.
KERNEL_BENCH := $(OUT)/kernel_bench
kernel-bench: $(KERNEL_BENCH)
$(KERNEL_BENCH): $(OUT)/tests/bench/kernel_bench.o $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@

# The official networks on a GPU: JSON lines for results/<machine>, and the tables made of all that are there.
BENCH_GROUPS ?= planned unsaturated dead spgemm
BENCH_LINES  ?= build/bench-gpu.jsonl
bench-gpu: $(PROGRAM)
	@./tests/bench/official_gpu.sh --spdnn $(PROGRAM) $(if $(MNIST),--mnist $(MNIST)) $(BENCH_OPTIONS) $(BENCH_LINES) $(BENCH_GROUPS)
results: build/.deps-TEST
	@./tests/bench/tables.py $(sort $(dir $(wildcard results/*/*.jsonl)))

# ---- how fast files are read; a part of `make bench` -----------------------------------------------------------------
$(OUT)/io_bench: $(OUT)/tests/bench/io_bench.o $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@
io-bench: build/.deps-BUILD
	@$(MAKE) --no-print-directory -j$$(nproc) $(OUT)/io_bench
	./$(OUT)/io_bench
bench: io-bench

# ---- sanitizers: the unit tests, and a short run of every fuzzer (the seeds make it repeatable) --------------------------
include make/fuzz.mk
sanitize: build/.deps-TEST
	@$(MAKE) --no-print-directory -j$$(nproc) BUILD=asan GPU=0 build/asan/spdnn_tests
	./build/asan/spdnn_tests --gtest_brief=1
	@$(MAKE) --no-print-directory fuzz FUZZ_RUNS=20000

# ---- peers: other programs doing the same work, in one run with ours ------------------------------------------------
$(OUT)/tests/peers/graphblas_peer.o: | build/.deps-BENCH
$(OUT)/graphblas_peer: $(OUT)/tests/peers/graphblas_peer.o $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -lgraphblas -o $@

bench: build/.deps-BENCH
	@$(MAKE) --no-print-directory -j$$(nproc) $(OUT)/graphblas_peer
	./$(OUT)/graphblas_peer 1024 120 60000 3 $(or $(MNIST),$(wildcard ../shared/data/mnist/train-images-idx3-ubyte.gz))

# ---- upkeep ----------------------------------------------------------------------------------------------------
format: build/.deps-LINT
	clang-format -i $(FORMATTED)
format-check: build/.deps-LINT
	clang-format --dry-run -Werror $(FORMATTED)
lint: build/.deps-LINT build/.deps-BUILD
	@$(MAKE) --no-print-directory GPU=0 run-lint
run-lint: $(OUT)/generated/build_values.hpp
	shellcheck $(SCRIPTS)
	printf '%s\n' $(SOURCES) src/main.cpp | xargs -P$$(nproc) -n 4 sh -c 'clang-tidy --quiet "$$@" -- -std=c++20 -Iinclude -Isrc -I$(OUT)/generated' tidy
clean:
	rm -rf build

-include $(shell find $(OUT) $(FUZZ_OUT) -name '*.d' 2>/dev/null)
