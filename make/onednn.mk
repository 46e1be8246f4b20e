# oneDNN: a shared object beside the program, which runs of models open. The program itself needs none of it: without it,
# kernels of its own take its place. ONEDNN=0|1: without it, or with it.
ONEDNN         ?= 1
ONEDNN_SOURCES := $(sort $(wildcard src/engines/cpu/onednn/*.cpp))
ONEDNN_PLUGIN  := $(if $(filter-out 0,$(ONEDNN)),$(OUT)/spdnn_onednn.so)

# What it takes of the library it has for itself, as the program exports nothing.
$(OUT)/spdnn_onednn.so: $(ONEDNN_SOURCES:%.cpp=$(OUT)/%.o) $(LIBRARY)
	$(call step,LINK $@)
	@$(CXX) $(CXXFLAGS) -shared -Wl,--as-needed -Wl,--exclude-libs,ALL $^ -ldnnl $(filter-out $(static),$(LDLIBS)) -o $@
build/spdnn: $(ONEDNN_PLUGIN)

# The program with all that it opens beside itself.
READY := $(PROGRAM) $(MPI_PLUGINS) $(ONEDNN_PLUGIN)
