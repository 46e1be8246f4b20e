# ---- fuzzing: the parsers of files and arguments, and the engines, by libFuzzer (clang) --------------------------------
# make fuzz FUZZ_SECONDS=600 runs all fuzzers for so long, one on each processor at a time; FUZZERS= names some of them.
FUZZ_OUT     := build/fuzz
FUZZERS      ?= $(patsubst tests/fuzz/%_fuzzer.cpp,%,$(wildcard tests/fuzz/*_fuzzer.cpp))
FUZZ_SECONDS ?= 60
FUZZ_CXX     ?= clang++
FUZZ_FLAGS   := -std=c++20 -D_GLIBCXX_ASSERTIONS -gline-tables-only -O1 -fopenmp -ffp-contract=off -Wall -fsanitize=address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SOURCES := $(filter-out src/cli/% %/build_info.cpp,$(HOST_SOURCES)) src/cli/options.cpp src/cli/network_form.cpp
FUZZ_SOURCES += $(filter-out %_fuzzer.cpp,$(wildcard tests/fuzz/*.cpp))
FUZZ_LIBRARY := $(FUZZ_OUT)/libspdnn.a

.SECONDARY: $(FUZZ_SOURCES:%.cpp=$(FUZZ_OUT)/%.o) $(FUZZERS:%=$(FUZZ_OUT)/tests/fuzz/%_fuzzer.o)
.PHONY: fuzz fuzzers

$(FUZZ_OUT)/%_avx2.o: FUZZ_FLAGS += $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-mavx2)
$(FUZZ_OUT)/%_avx512.o: FUZZ_FLAGS += $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-mavx512f -mavx512bw -mavx512dq -mavx512vl)
$(FUZZ_OUT)/%.o: %.cpp | build/.deps-FUZZ build/.deps-BUILD
	@mkdir -p $(@D)
	@echo 'CXX  $< (fuzzing)'
	@$(FUZZ_CXX) -Iinclude -Isrc -Itests -MMD -MP $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(FUZZ_LIBRARY): $(FUZZ_SOURCES:%.cpp=$(FUZZ_OUT)/%.o)
	@rm -f $@
	@ar rcs $@ $^

$(FUZZ_OUT)/%_fuzzer: $(FUZZ_OUT)/tests/fuzz/%_fuzzer.o $(FUZZ_LIBRARY)
	@echo 'LINK $@'
	@$(FUZZ_CXX) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

fuzzers: $(FUZZERS:%=$(FUZZ_OUT)/%_fuzzer)
fuzz: build/.deps-FUZZ
	@$(MAKE) --no-print-directory -j$$(nproc) GPU=0 fuzzers
	@./tests/fuzz/run.sh $(FUZZ_OUT) $(FUZZ_SECONDS) $(FUZZERS)
