# MPI: one plug-in (shared object) beside the program for each MPI library. The program opens it when a launcher has started
# it as one of several ranks, and needs no MPI otherwise, neither to build nor to run.

# Compiler wrappers: the first mpicxx in PATH, where a module puts its own, or the wrappers beside it that are named after
# their libraries, such as Debian's mpicxx.openmpi.
MPICXX := $(shell command -v mpicxx)
MPI_LIBRARIES ?= $(if $(MPICXX),$(or $(sort $(patsubst mpicxx.%,%,$(notdir $(wildcard $(MPICXX).*)))),mpi))
mpi_compiler = $(MPICXX)$(if $(filter mpi,$1),,.$(1:-debian=))
ifeq ($(MPI)$(MPI_LIBRARIES),1)
  $(error MPI=1, but no mpicxx was found; load or install an MPI library, or set MPI=0)
endif
# A portable plug-in names the soname of the target's library: that of Open MPI 3 to 5, of MPICH and libraries with its ABI
# (Intel MPI, MVAPICH, HPE Cray), or of MPICH on Debian and Ubuntu.
ifeq ($(PORTABLE),1)
  MPI_LIBRARIES := $(MPI_LIBRARIES) $(patsubst %,%-debian,$(filter mpich,$(MPI_LIBRARIES)))
  MPI_SONAME_openmpi      := libmpi.so.40
  MPI_SONAME_mpich        := libmpi.so.12
  MPI_SONAME_mpich-debian := libmpich.so.12
endif
# Links against an empty library with that soname. The symbols stay undefined until the plug-in is opened.
define link_to_soname
	@$(CXX) -shared -nostdlib -Wl,-soname,$(MPI_SONAME_$*) -x c /dev/null -o $(STUBS)/$(MPI_SONAME_$*)
	@$(CXX) -shared $(PORTABLE_FLAGS) $(@:.so=.o) $(COMPAT) -Wl,--no-as-needed $(STUBS)/$(MPI_SONAME_$*) -Wl,--as-needed -lpthread -o $@
endef
MPI_PLUGINS := $(if $(filter 0,$(MPI)),,$(MPI_LIBRARIES:%=$(OUT)/spdnn-%.so))

# -D..._SKIP_MPICXX: without the libraries' own C++ interfaces. spdnn-mpi.so serves any launcher, but only if no plug-in is
# named after the launcher's library, so plug-ins of earlier builds are removed.
$(MPI_PLUGINS): $(OUT)/spdnn-%.so: src/cluster/mpi_plugin.cpp src/cluster/mpi_functions.hpp make/mpi.mk $(OUT)/generated/mpi-%
	@mkdir -p $(@D)
	$(call step,MPI $@)
	@$(if $(filter mpi,$*),rm -f $(filter-out $@,$(wildcard $(OUT)/spdnn-*.so)))
	@$(call mpi_compiler,$*) -std=c++20 -O2 -Wall -Wextra -DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1 -Isrc -fPIC \
	  $(if $(MPI_SONAME_$*),-c $< -o $(@:.so=.o),-shared $< -o $@)
	$(if $(MPI_SONAME_$*),$(link_to_soname))
# The wrapper's compile command, rewritten only when it changes, for instance after loading another module.
$(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%): $(OUT)/generated/mpi-%: FORCE
	@mkdir -p $(@D)
	@{ command -v $(call mpi_compiler,$*); $(call mpi_compiler,$*) -show; } >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
FORCED += $(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%)
build/spdnn: $(MPI_PLUGINS)
