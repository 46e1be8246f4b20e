# Tests: units, kernels emulated on the CPU, the command line, mutants, concurrent writers and readers, and the device.
UNIT_TESTS       := $(OUT)/spdnn_tests
UNIT_OBJECTS     := $(call objects,$(UNIT_SOURCES))
# Emulated kernels run on the CPU and find CUDA's headers in tests/emulation. They are not built together with device
# kernels, nor with AddressSanitizer, which does not support these fibers.
EMULATED_OBJECTS := $(if $(filter 1-% %-asan,$(GPU)-$(BUILD)),,$(call objects,$(EMULATED_SOURCES)))
# Tests take longer to compile than to run; emulated kernels, which compute for all threads of a GPU, less. Beside -O1, -Og
# compiles those in two thirds of the time, and they run a tenth longer, which is the smaller part. GCC 12 folds std::move and
# the like without optimising, too.
TEST_CXXFLAGS_release      := -O0 $(if $(shell $(CXX) -ffold-simple-inlines -E -x c++ /dev/null >/dev/null 2>&1 && echo yes),-ffold-simple-inlines)
EMULATION_CXXFLAGS_release := -Og
# _FORTIFY_SOURCE would report each longjmp between the stacks of two fibers.
EMULATION_CPPFLAGS := -U_FORTIFY_SOURCE -Itests/emulation/include
EMULATION_CXXFLAGS := -fno-strict-aliasing -Wno-unknown-pragmas -Wno-maybe-uninitialized -Wno-conversion -Wno-shadow -Wno-pedantic
GPU_TESTS        := $(OUT)/spdnn_gpu_tests
GPU_OBJECTS      := $(patsubst %.cpp,$(OUT)/%.o,$(shell find tests/gpu -name '*.cpp' | LC_ALL=C sort))
GPU_OBJECTS      += $(patsubst %,$(OUT)/tests/unit/engines/%_test.o,battery properties)
GPU_OBJECTS      += $(OUT)/tests/unit/program/engines_test.o

$(UNIT_OBJECTS) $(EMULATED_OBJECTS) $(GPU_OBJECTS): | build/.deps-TEST
$(UNIT_OBJECTS) $(GPU_OBJECTS): | $(OUT)/precompiled/tests.hpp.gch
$(OUT)/precompiled/tests.hpp.gch: | build/.deps-TEST
# Tests open this in place of NVIDIA's management library (NVML).
FAKE_NVML        := $(OUT)/fake_nvml.so
$(FAKE_NVML): tests/support/fake_nvml.c
	@mkdir -p $(@D)
	$(call step,CC $<)
	@$(CXX) -x c -shared -fPIC $< -o $@
# The linker takes inline functions from the first object that has them: from the optimised units of the library.
$(UNIT_TESTS): $(filter $(OUT)/units/%,$(call objects,$(SOURCES))) $(call objects,$(HOST_HALVES)) $(UNIT_OBJECTS) $(EMULATED_OBJECTS) $(LIBRARY) | $(FAKE_NVML) $(ONEDNN_PLUGIN)
	$(call link,-lgtest -lgtest_main)
$(GPU_TESTS): $(GPU_OBJECTS) $(LIBRARY)
	$(call link,-l:libgtest.a)

.PHONY: test run-test test-long run-test-long test-mpi run-test-mpi mutants hostile run-hostile sanitize gpu-tests test-gpu sanitize-gpu
##   test                         unit tests, emulated kernels, command line and Python tests; no GPU is needed
##   test-long                    these, with all of the seeds, shapes and sizes of which `make test` takes samples, and the toy operation
##   test-mpi                     runs of several ranks, with OpenMPI and with MPICH
##   hostile                      kills writers and ranks at random, runs writers and readers concurrently; takes minutes;
##                                HOSTILE="--kills 60 --pairs 20 --readers 20" HOSTILE_RANKS="--kills 20" does less
##                                (HOSTILE_RANKS is for ranks, and for runs with checkpoints)
test-mpi hostile: build/.deps-MPI
test test-long: $(if $(CI),build/.deps-REPORT build/.deps-ONNXRUNTIME)
test test-long test-mpi hostile: %: build/.deps-TEST
	@$(MAKE) --no-print-directory GPU=$(HOST_GPU) run-$*
# tests/support/sampled.hpp and sampled.bash read it.
run-test-long: export SPDNN_TEST_LONG := 1
run-test run-test-long: $(READY) $(UNIT_TESTS) python | build/onnxruntime
	@./tests/run.sh $(PROGRAM) tests/cli $(UNIT_TESTS)
run-test-mpi: $(READY)
	@./tests/run.sh $(PROGRAM) tests/mpi
run-hostile: $(READY)
	@./tests/hostile/outputs.py $(PROGRAM) $(HOSTILE)
	@./tests/hostile/ranks.py $(PROGRAM) $(HOSTILE_RANKS)
	@./tests/hostile/checkpoints.py $(PROGRAM) --judge-losses $(HOSTILE_RANKS)

##   test-slurm                   the cluster jobs in a Slurm that the tests start on this machine; takes root and Debian
.PHONY: test-slurm run-test-slurm
test-slurm:
	@$(MAKE) --no-print-directory GPU=$(HOST_GPU) run-test-slurm
run-test-slurm: $(READY)
	@CXX='$(CXX)' ./tests/slurm/run.sh $(PROGRAM) $(SLURM_PACKAGES)

##   mutants                      does a test fail when the code is broken on purpose? MUTANTS="NAME ..." picks, with * and ?
MUTANTS          ?= *
MUTANTS_MAY_LIVE ?= 0
mutants: build/.deps-TEST
	@CXX='$(CXX)' ./tests/mutants/run.py --may-live $(MUTANTS_MAY_LIVE) '$(MUTANTS)'

##   sanitize                     the unit tests with AddressSanitizer and UBSan, and a short run of every fuzzer
sanitize: build/.deps-TEST
	@$(MAKE) --no-print-directory BUILD=asan GPU=0 build/asan/spdnn_tests
	SPDNN_TEST_LONG=1 ./build/asan/spdnn_tests --gtest_brief=1
	@$(MAKE) --no-print-directory fuzz FUZZ_RUNS=20000

##   test-gpu                     the device tests; they skip, loudly, where there is no GPU
##   sanitize-gpu                 compute-sanitizer over some of them, or over those of SANITIZE_FILTER=
##   gpu-tests                    builds the device tests
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
