# Format, lint, and compile_commands.json for editors.
SCRIPTS   := $(shell find tests data_scripts jobs make .ci -type f \( -name '*.sh' -o -name '*.bash' -o -name '*.sbatch' -o -name run \) | LC_ALL=C sort)
FORMATTED := $(shell find src include tests docs python \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)

.PHONY: lint run-lint shellcheck format format-check
##   format, format-check         clang-format
format: build/.deps-FORMAT
	clang-format -i $(FORMATTED)
format-check: build/.deps-FORMAT
	clang-format --dry-run -Werror $(FORMATTED)

# clang-tidy checks the library, the program and their tests, and files that include CUDA's headers if these are installed.
# Debian 12's clang cannot parse .cu files with CUDA 12 or later, which dropped the texture headers, nor the emulated
# kernels' _Float16. tests/fuzz is exempt: libFuzzer prescribes its names.
# Files are checked by unit, as they are compiled: their headers take most of the time.
TIDY_ALONE := $(filter-out $(IN_UNITS),$(HOST_SOURCES) $(HOST_HALVES) $(if $(ONEDNN_PLUGIN),$(ONEDNN_SOURCES)) $(UNIT_SOURCES))
TIDY_ALONE += $(PROGRAM_SOURCES) $(wildcard python/*.cpp tests/bench/*.cpp)
TIDY_ALONE += $(if $(wildcard $(CUDA)/include/cuda_runtime_api.h),$(filter %.cpp,$(CUDA_SOURCES)) $(wildcard tests/gpu/*.cpp))
TIDY_UNITS := $(filter-out tests/emulation/% $(if $(ONEDNN_PLUGIN),,src/engines/cpu/onednn/%),$(UNIT_NAMES))
TIDY_SOURCES := $(TIDY_UNITS:%=$(OUT)/units/%.cpp) $(TIDY_ALONE)
# tidy,FILE: clang-tidy's options for a file, and tidy_flags,FILE: the compiler's.
tidy = $(if $(filter $(OUT)/units/%,$1),--checks=-bugprone-suspicious-include) \
	$(if $(filter $(OUT)/units/tests/%,$1),--config-file=tests/.clang-tidy)
tidy_flags = -std=c++20 -I. $(if $(findstring tests/,$1),-Itests) $(INCLUDES) $(if $(filter tests/gpu/% $(CUDA_SOURCES),$1),$(CUDA_CPPFLAGS)) \
	$(if $(filter python/%,$1),$(PYTHON_CPPFLAGS))

##   lint                         shellcheck and clang-tidy, on the files changed since their last clean run
lint: build/.deps-LINT build/.deps-TEST
	@$(MAKE) --no-print-directory --keep-going GPU=0 run-lint
run-lint: shellcheck $(TIDY_SOURCES:%=build/lint/%.clean)
shellcheck:
	shellcheck $(SCRIPTS)
build/lint/%.clean: % .clang-tidy tests/.clang-tidy | $(OUT)/generated/build_values.hpp $(OUT)/generated/python_flags $(PAGE_LITERALS) $(ONNX_CODE:.cc=.h) $(TFLITE_CODE)
	@mkdir -p $(@D)
	@echo 'TIDY $<'
	@clang-tidy --quiet $(call tidy,$<) $< -- $(call tidy_flags,$<) 2>$@.log || { cat $@.log >&2; false; }
	@$(CXX) $(call tidy_flags,$<) -MM -MP -MT $@ -MF $@.d $<
	@touch $@
-include $(shell find build/lint -name '*.d' 2>/dev/null)

##   compile_commands.json        compile commands for clangd and other tools; follows GPU=, BUILD= and so on
COMPILED := $(sort $(SOURCES) $(UNIT_SOURCES) $(if $(EMULATED_OBJECTS),$(EMULATED_SOURCES)) \
	$(if $(filter 1,$(GPU)),$(GPU_OBJECTS:$(OUT)/%.o=%.cpp)))
# clang does not know the option that is left out.
compiler  = $(if $(filter %.cu,$1),$(NVCC) $(INCLUDES) $(NVCCFLAGS),$(CXX) $(filter-out -ffold-simple-inlines,$(call flags,$1)))
entry     = {"directory": "$(CURDIR)", "file": "$1", "command": "$(strip $(compiler)) -c $1"}
compile_commands.json: FORCE
	@echo 'GEN  $@'
	$(file >$@,[ $(call entry,src/main.cpp))
	$(foreach file,$(COMPILED),$(file >>$@,, $(call entry,$(file))))
	$(file >>$@,])
