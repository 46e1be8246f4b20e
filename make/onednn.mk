# oneDNN: a shared object beside the program, which runs of the variant conv_dense open. The program itself needs none of it.
# ONEDNN=0|1|auto: without it, with it, or where its header is.
ONEDNN        ?= auto
ONEDNN_HEADER := $(shell echo '\#include <oneapi/dnnl/dnnl.hpp>' | $(CXX) -x c++ -E - >/dev/null 2>&1 && echo 1)
ifeq ($(ONEDNN)$(ONEDNN_HEADER),1)
  $(error ONEDNN=1, but there is no oneapi/dnnl/dnnl.hpp; install libdnnl-dev, or set ONEDNN=0)
endif
ONEDNN_SOURCES := $(sort $(wildcard src/engines/cpu/conv/onednn/*.cpp))
ONEDNN_PLUGIN  := $(if $(filter-out 0,$(ONEDNN)),$(if $(ONEDNN_HEADER),$(OUT)/spdnn_onednn.so))

# What it takes of the library it has for itself, as the program exports nothing.
$(OUT)/spdnn_onednn.so: $(ONEDNN_SOURCES:%.cpp=$(OUT)/%.o) $(LIBRARY)
	@echo 'LINK $@'
	@$(CXX) $(CXXFLAGS) -shared -Wl,--as-needed -Wl,--exclude-libs,ALL $^ -ldnnl $(filter-out $(static),$(LDLIBS)) -o $@
$(PROGRAM): | $(ONEDNN_PLUGIN)
