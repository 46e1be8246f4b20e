# Fuzzing by libFuzzer (clang): the parsers of files and arguments, and the engines.
FUZZ_OUT     := build/fuzz
FUZZERS      ?= $(patsubst tests/fuzz/%_fuzzer.cpp,%,$(wildcard tests/fuzz/*_fuzzer.cpp))
FUZZ_SECONDS ?= 60
FUZZ_CXX     ?= $(strip $(CCACHE) clang++)
FUZZ_FLAGS   := -std=c++20 -D_GLIBCXX_ASSERTIONS -gline-tables-only -O1 -fopenmp -ffp-contract=off -Wall -fsanitize=address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SOURCES := $(filter-out src/cli/%,$(HOST_SOURCES)) $(addprefix src/cli/,options.cpp progress_bar.cpp specification.cpp)
FUZZ_SOURCES += $(filter-out %_fuzzer.cpp,$(wildcard tests/fuzz/*.cpp))
FUZZ_LIBRARY := $(FUZZ_OUT)/libspdnn.a

$(FUZZ_OUT)/%.o: %.cpp | build/.deps-FUZZ
	@mkdir -p $(@D)
	@echo 'CXX  $< (fuzzing)'
	@$(FUZZ_CXX) $(INCLUDES) -Itests -MMD -MP $(FUZZ_FLAGS) $(call ISA_FLAGS,$<) -fsanitize=fuzzer-no-link -c $< -o $@
$(FUZZ_OUT)/src/core/system/build_info.o: $(OUT)/generated/build_values.hpp
$(FUZZ_OUT)/src/report/render/html/assets.o: $(PAGE_LITERALS)
$(FUZZ_OUT)/src/bench/onnxruntime.o: $(PEER_LITERALS)
$(FUZZ_OUT)/onnx.pb.o: $(ONNX_CODE)
	@mkdir -p $(@D)
	@echo 'CXX  $< (fuzzing)'
	@$(FUZZ_CXX) $(INCLUDES) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@
$(patsubst %.cpp,$(FUZZ_OUT)/%.o,$(ONNX_READERS)): | $(ONNX_CODE:.cc=.h)
$(patsubst %.cpp,$(FUZZ_OUT)/%.o,$(TFLITE_READERS)): | $(TFLITE_CODE)
$(FUZZ_LIBRARY): $(FUZZ_SOURCES:%.cpp=$(FUZZ_OUT)/%.o) $(FUZZ_OUT)/onnx.pb.o
	@rm -f $@
	@ar rcs $@ $^
$(FUZZERS:%=$(FUZZ_OUT)/%_fuzzer): $(FUZZ_OUT)/%: $(FUZZ_OUT)/tests/fuzz/%.o $(FUZZ_LIBRARY)
	@echo 'LINK $@'
	@$(FUZZ_CXX) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

.PHONY: fuzz run-fuzz fuzzers
##   fuzz                         all fuzzers for FUZZ_SECONDS=60, one on each processor at a time; FUZZERS="NAME ..." picks
fuzzers: $(FUZZERS:%=$(FUZZ_OUT)/%_fuzzer)
fuzz:
	@$(MAKE) --no-print-directory GPU=0 run-fuzz
run-fuzz: fuzzers
	@./tests/fuzz/run.sh $(FUZZ_OUT) $(FUZZ_SECONDS) $(FUZZERS)
