# oneDNN: a plug-in (shared object) beside the program, opened by runs of models. Without it, the program's own kernels
# run. ONEDNN=0|1 leaves it out, or builds it.
ONEDNN        ?= 1
ONEDNN_PLUGIN := $(if $(filter-out 0,$(ONEDNN)),$(OUT)/spdnn_onednn.so)

# The program exports no symbols, so the plug-in links its own copy of the library.
$(OUT)/spdnn_onednn.so: $(call objects,$(ONEDNN_SOURCES)) $(LIBRARY)
	$(call step,LINK $@)
	@$(CXX) $(CXXFLAGS) -shared -Wl,--as-needed -Wl,--exclude-libs,ALL $^ -ldnnl $(filter-out $(static),$(LDLIBS)) -o $@
build/spdnn: $(ONEDNN_PLUGIN)

# The program with its plug-ins.
READY := $(PROGRAM) $(MPI_PLUGINS) $(ONEDNN_PLUGIN)
