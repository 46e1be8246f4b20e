# The library, the program, and the rules that compile every source file, tests included.
OUT := build/$(BUILD)$(if $(filter 1,$(GPU)),-cuda)$(if $(filter 1,$(PORTABLE)),-portable)

ifeq ($(origin CXX),default)
  CXX := $(strip $(CCACHE) g++)
endif
# Lets ccache store objects compiled with precompiled headers.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
INCLUDES := -Iinclude -Isrc -I$(OUT)/generated
# -DFMT_CONSTEVAL=: without STRICT=1, fmt checks format strings when they are used. To check them while compiling takes up to a
# tenth of that time.
CPPFLAGS := $(INCLUDES) $(if $(filter 1,$(GPU)),$(CUDA_CPPFLAGS)) $(if $(filter 1,$(PORTABLE)),-DFMT_HEADER_ONLY) \
	$(if $(filter 1,$(STRICT)),,-DFMT_CONSTEVAL=)
# -Wno-array-bounds, -Wno-restrict, -Wno-stringop-...: false alarms of GCC 12 on std::string, fmt and lists of strings.
# -fPIC: the objects also become a part of the Python module.
CXXFLAGS := -std=c++20 -fPIC -fno-semantic-interposition -fopenmp -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow \
	-Wconversion -Wno-sign-conversion -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread $(if $(filter 1,$(STRICT)),-Werror)
CXXFLAGS_release := -O3
CXXFLAGS_debug   := -O0 -g
CXXFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# GCC collects garbage first at 1 GB, which few units reach: that takes less time, and more memory.
CXXFLAGS += $(if $(findstring clang,$(CXX)),,--param ggc-min-heapsize=1000000)
CXXFLAGS += $(or $(CXXFLAGS_$(BUILD)),$(error BUILD=$(BUILD): expected release, debug or asan))
# A portable program links these statically; see make/portable.mk.
LDLIBS   := -lboost_program_options -lfmt -lmd -lz -lxxhash
ifeq ($(PORTABLE),1)
  LDLIBS := -Wl,-Bstatic $(filter-out -lfmt,$(LDLIBS)) -Wl,-Bdynamic -ldl -lpthread
endif
# protoc generates the code that reads and writes ONNX files from ONNX's schema, for protobuf's lite runtime. Linking that
# statically does not delay the start; Debian's libonnx_proto, which needs all of protobuf, would add 1.5 ms.
LDLIBS   += -l:libprotobuf-lite.a
LDLIBS   += -ldl $(if $(filter 1,$(GPU)),$(CUDA_LDLIBS))

FOR_ISA  := %_avx2.cpp %_avx512.cpp %_avx512vnni.cpp
# The CPU engine chooses among these instruction sets at run time. On other architectures these files are empty.
ifneq ($(filter x86_64%,$(or $(shell $(CXX) -dumpmachine 2>/dev/null),$(shell uname -m))),)
  ISA_FLAGS = $(if $(filter %_avx2.cpp,$1),-mavx2 -mfma) $(if $(filter %_avx512.cpp %_avx512vnni.cpp,$1),-mavx512f -mavx512bw -mavx512dq -mavx512vl) \
	$(if $(filter %_avx512vnni.cpp,$1),-mavx512vnni)
endif
# Files that take little of a run's time but long to compile at -O3, and files of theirs that do not. Units of the
# former lie in a folder `cold`. Without CUDA, only tests call the host halves of GPU engines.
COLD := $(addprefix src/,bench cli cluster core/text data engines/cpu/onednn inference io/arrays io/files io/models \
	io/networks/directory model/graph model/rewrites program report $(if $(filter 1,$(GPU)),,engines/cuda))
HOT  := src/program/epilogue.cpp src/program/within.cpp $(wildcard src/data/official/trig_*.cpp)
COLD_CXXFLAGS_release := -Og
# JSON is read there: at -Og, reports of many lines would take nearly twice as long.
TEXT_CXXFLAGS_release := -O1
COLD_FLAGS = $(if $(findstring /cold/,$1)$(filter-out $(HOT),$(filter $(COLD:%=%/%),$1)),$(COLD_CXXFLAGS_$(BUILD)) \
	$(if $(filter src/core/%,$1),$(TEXT_CXXFLAGS_$(BUILD))))
# All flags of one source file.
flags = $(if $(filter tests/emulation/%,$1),$(EMULATION_CPPFLAGS)) $(if $(filter tests/%,$1),-Itests) $(CPPFLAGS) $(CXXFLAGS) \
	$(if $(filter tests/unit/%,$1),$(TEST_CXXFLAGS_$(BUILD))) \
	$(if $(filter tests/emulation/%,$1),$(EMULATION_CXXFLAGS_$(BUILD)) $(EMULATION_CXXFLAGS)) $(ISA_FLAGS) $(COLD_FLAGS)
# Precompiled headers, for all files but those with special flags.
precompiled = $(if $(filter-out $(FOR_ISA) tests/emulation/%,$1),-fpch-preprocess -include \
	$(OUT)/precompiled/$(if $(filter tests/unit/%,$1),tests,src).hpp)

$(OUT)/%.o: %.cpp make/program.mk | build/.deps-BUILD $(OUT)/precompiled/src.hpp.gch
	@mkdir -p $(@D)
	$(call step,CXX $<)
	@$(CXX) $(call precompiled,$<) $(call flags,$<) -MMD -MP -c $< -o $@
$(OUT)/units/%.o: $(OUT)/units/%.cpp make/program.mk | build/.deps-BUILD $(OUT)/precompiled/src.hpp.gch
	@mkdir -p $(@D)
	$(call step,CXX $(call files_text,$(call files_of,$*)))
	@$(CXX) $(call precompiled,$*.cpp) -I. $(call flags,$*.cpp) $(if $(filter tests/%,$*),-Wno-shadow) -MMD -MP -c $< -o $@
$(OUT)/precompiled/src.hpp.gch $(OUT)/precompiled/tests.hpp.gch: $(OUT)/precompiled/%.hpp.gch: make/precompiled/%.hpp make/precompiled/src.hpp make/program.mk | build/.deps-BUILD
	@mkdir -p $(@D)
	$(call step,CXX $<)
	@cp $< $(@:.gch=)
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(if $(filter tests,$*),$(TEST_CXXFLAGS_$(BUILD))) -x c++-header -c $< -o $@
$(OUT)/%.cu.o: %.cu make/cuda.mk | build/.deps-BUILD
	@mkdir -p $(@D)
	$(call step,NVCC $<)
	@$(NVCC) $(INCLUDES) $(NVCCFLAGS) -MMD -MP -c $< -o $@

# files_text,FILES: the file, or the number of files of a unit and their rooms.
files_text = $(if $(word 2,$1),$(words $1) files of $(sort $(foreach file,$1,$(word 1,$(subst /, ,$(file)))/$(word 2,$(subst /, ,$(file))))),$1)
# step,WHAT: announces a recipe as "[number/total] WHAT". A dry run counts the total at the first step, assuming that the
# generated files that every make checks (FORCED) stay unchanged.
STEPS    = $(eval STEPS := $(shell $(MAKE) --dry-run --no-print-directory STEPS=1 $(patsubst %,-o %,$(wildcard $(FORCED))) \
	$(MAKEOVERRIDES) $(MAKECMDGOALS) 2>/dev/null | grep -c "^echo '\["))$(STEPS)
step     = @$(eval TAKEN += x)echo '[$(words $(TAKEN))/$(STEPS)] $1'

# link,LIBRARIES: the recipe that links a program.
define link
	$(call step,LINK $@)
	@$(CXX) $(CXXFLAGS) $(link_flags) $^ $1 $(LDLIBS) -o $@
endef

# Sources of the program that are not in the library.
PROGRAM_SOURCES := src/main.cpp src/cli/openmp_spinning.cpp
HOST_SOURCES := $(sort $(filter-out $(PROGRAM_SOURCES),$(shell find src -name '*.cpp' ! -name mpi_plugin.cpp ! -path '*/onednn/*' ! -path '*/cuda/*')))
ONEDNN_SOURCES := $(sort $(wildcard src/engines/cpu/onednn/*.cpp))
SOURCES      := $(HOST_SOURCES) $(if $(filter 1,$(GPU)),$(HOST_HALVES) $(CUDA_SOURCES))
LIBRARY      := $(OUT)/libspdnn.a

# Files of one room are compiled together as one unit, since the headers and templates that they share take most of the time.
# Names in anonymous namespaces must differ within a unit; files that cannot comply are listed in ALONE. UNITY=0 compiles each
# file alone, which is quicker while one edits a single file.
UNITY ?= 1
ALONE := $(HOT) $(FOR_ISA) src/core/system/build_info.cpp src/report/render/html/assets.cpp tests/emulation/emulation.cpp
# Rooms that share units, where both or neither are part of the installed library and of oneDNN's plug-in.
JOINED := src/bench+src/cli src/cluster+src/inference+src/report src/model+src/program
UNIT_SOURCES := $(sort $(shell find tests/unit -name '*.cpp'))
EMULATED_SOURCES := $(sort $(shell find tests/emulation -name '*.cpp'))
IN_UNITS    := $(if $(filter 1,$(UNITY)),$(filter-out $(ALONE),$(HOST_SOURCES) $(HOST_HALVES) $(ONEDNN_SOURCES) $(UNIT_SOURCES) $(EMULATED_SOURCES)))
UNITS       := $(shell printf '%s\n' $(IN_UNITS) | LC_ALL=C awk -F/ -v most=36 -v most_cold=128 -v most_tests=72 -v alone='src/engines/cpu src/io/arrays src/io/models/tflite' -v rooms='src/engines/cuda' -v cold='$(COLD)' -v joined='$(JOINED)' -f make/units.awk)
files_of     = $(subst :, ,$(word 2,$(subst =, ,$(filter $1=%,$(UNITS)))))
UNIT_NAMES  := $(foreach unit,$(UNITS),$(firstword $(subst =, ,$(unit))))
# objects,FILES: the object files that contain these source files, as units or alone.
objects      = $(addsuffix .o,$(addprefix $(OUT)/,$(filter-out $(IN_UNITS:.cpp=),$(1:.cpp=)) \
	$(foreach unit,$(UNIT_NAMES),$(if $(filter $(call files_of,$(unit)),$1),units/$(unit)))))
$(UNIT_NAMES:%=$(OUT)/units/%.cpp): $(OUT)/units/%.cpp: FORCE
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(call files_of,$*) >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
FORCED       += $(UNIT_NAMES:%=$(OUT)/units/%.cpp) $(OUT)/generated/build_values.hpp
# Input of tests/tools/private_names.py, which finds private names that clash within a unit.
.PHONY: print-units
print-units:
	@printf '%s\n' $(UNITS)

ONNX_CODE    := $(OUT)/generated/onnx.pb.cc
ONNX_OBJECT  := $(ONNX_CODE:.cc=.o)
ONNX_READERS := $(shell find src/io tests -name '*.cpp' -path '*onnx*')
TFLITE_CODE    := $(OUT)/generated/tflite_generated.h
TFLITE_READERS := $(shell find src/io/models tests -name '*.cpp' -path '*tflite*')
PROGRAM      := $(OUT)/spdnn

$(LIBRARY): $(call objects,$(SOURCES)) $(ONNX_OBJECT)
	@rm -f $@
	@ar rcs $@ $^
$(PROGRAM): $(PROGRAM_SOURCES:%.cpp=$(OUT)/%.o) $(LIBRARY)
	$(call link)
build/spdnn: $(PROGRAM)
	@ln -sfn $(patsubst build/%,%,$<) $@

# ONNX's schema as C++. ONNX_PROTO= gives its path if it is not Debian's.
$(ONNX_CODE): $(ONNX_PROTO) | build/.deps-BUILD
	@mkdir -p $(@D)
	$(call step,GEN $(ONNX_CODE))
	@protoc -I$(<D) --cpp_out=$(@D) $(<F)
$(ONNX_PROTO): | build/.deps-BUILD ;
$(ONNX_CODE:.cc=.h): $(ONNX_CODE) ;
$(ONNX_OBJECT): %.o: %.cc
	$(call step,CXX $<)
	@$(CXX) -std=c++20 -Og -fPIC $(filter -fsanitize% -fno-sanitize%,$(CXXFLAGS)) -c $< -o $@
$(call objects,$(ONNX_READERS)): | $(ONNX_CODE:.cc=.h)
# The part of TensorFlow Lite's schema that the reader needs. FlatBuffers is header-only.
$(TFLITE_CODE): src/io/models/tflite/tflite.fbs | build/.deps-BUILD
	@mkdir -p $(@D)
	$(call step,GEN $(TFLITE_CODE))
	@flatc --cpp --gen-object-api --scoped-enums -o $(@D) $<
$(call objects,$(TFLITE_READERS)): | $(TFLITE_CODE)

# The assets of HTML pages (src/report/render/html), each file as a raw string literal. CHART_JS= gives the path of Chart.js 3 if
# it is not Debian's.
PAGE_FILES    := $(addprefix src/report/render/html/,page.css page.js tables.js chart_licence.txt)
PAGE_LITERALS := $(PAGE_FILES:src/report/render/html/%=$(OUT)/generated/%.literal) $(OUT)/generated/chart.js.literal
$(OUT)/src/report/render/html/assets.o: $(PAGE_LITERALS)
# The scripts by which node and Python run onnxruntime (src/bench), likewise.
PEER_FILES    := src/bench/onnxruntime.js src/bench/onnxruntime.py
PEER_LITERALS := $(PEER_FILES:src/bench/%=$(OUT)/generated/%.literal)
$(PEER_LITERALS): $(OUT)/generated/%.literal: src/bench/%
$(call objects,src/bench/onnxruntime.cpp): $(PEER_LITERALS)
$(PAGE_LITERALS) $(PEER_LITERALS): $(OUT)/generated/%.literal: | build/.deps-BUILD
	@mkdir -p $(@D)
	@{ printf 'R"literal('; cat $<; printf ')literal"\n'; } >$@
$(PAGE_FILES:src/report/render/html/%=$(OUT)/generated/%.literal): $(OUT)/generated/%.literal: src/report/render/html/%
$(OUT)/generated/chart.js.literal: $(CHART_JS)
$(CHART_JS): | build/.deps-BUILD ;

# The build's version, commit and options, rewritten only when they change. Concurrent makes use separate temporary files (PPID).
# A site's edits of jobs/site.sh do not make the build dirty.
$(OUT)/src/core/system/build_info.o: $(OUT)/generated/build_values.hpp
$(OUT)/generated/build_values.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo '#define SPDNN_VERSION "$(VERSION)"'; \
	   echo "#define SPDNN_COMMIT \"$$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)\""; \
	   echo "#define SPDNN_DIRTY $$([ -z "$$(git status --porcelain --untracked-files=no -- . ':!jobs/site.sh' 2>/dev/null)" ] && echo 0 || echo 1)"; \
	   echo "#define SPDNN_HEADERS \"$$(find include src -name '*.hpp' | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-12)\""; \
	   echo '#define SPDNN_CUDA $(GPU)'; \
	   echo '#define SPDNN_ARCH "$(if $(filter 1,$(GPU)),$(ARCH))"'; } > $@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
