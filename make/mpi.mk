# MPI: a shared object beside the program for each MPI library, which the program opens when a launcher has started it as one
# of several ranks. The program itself needs no MPI, neither to build nor to run.

# Compiler wrappers: mpicxx, the first in PATH, as a module puts its own there; where wrappers that are named after their
# library stand beside it, as Debian has them, those.
MPICXX := $(shell command -v mpicxx)
MPI_LIBRARIES ?= $(if $(MPICXX),$(or $(sort $(patsubst mpicxx.%,%,$(notdir $(wildcard $(MPICXX).*)))),mpi))
mpi_compiler = $(MPICXX)$(if $(filter mpi,$1),,.$(1:-debian=))
ifeq ($(MPI)$(MPI_LIBRARIES),1)
  $(error MPI=1, but no mpicxx was found; load or install an MPI library, or set MPI=0)
endif
# A portable plug-in asks for the name that its library has where the program runs: Open MPI 3 to 5, or MPICH and those that
# share its ABI (Intel MPI, MVAPICH, HPE Cray), and MPICH as Debian and Ubuntu call it.
ifeq ($(PORTABLE),1)
  MPI_LIBRARIES := $(MPI_LIBRARIES) $(patsubst %,%-debian,$(filter mpich,$(MPI_LIBRARIES)))
  MPI_SONAME_openmpi      := libmpi.so.40
  MPI_SONAME_mpich        := libmpi.so.12
  MPI_SONAME_mpich-debian := libmpich.so.12
endif
# An empty library of that name stands for it; what a shared object lacks is looked for when it is opened.
define link_to_soname
	@$(CXX) -shared -nostdlib -Wl,-soname,$(MPI_SONAME_$*) -x c /dev/null -o $(STUBS)/$(MPI_SONAME_$*)
	@$(CXX) -shared $(PORTABLE_FLAGS) $(@:.so=.o) $(COMPAT) -Wl,--no-as-needed $(STUBS)/$(MPI_SONAME_$*) -Wl,--as-needed -lpthread -o $@
endef
MPI_PLUGINS := $(if $(filter 0,$(MPI)),,$(MPI_LIBRARIES:%=$(OUT)/spdnn-%.so))

# -D..._SKIP_MPICXX: without the libraries' own C++ interfaces. A plug-in of no telling name serves any launcher, but only
# where there is none that is named after the launcher's library: those of an earlier build go.
$(MPI_PLUGINS): $(OUT)/spdnn-%.so: src/cluster/mpi_plugin.cpp src/cluster/mpi_functions.hpp make/mpi.mk $(OUT)/generated/mpi-%
	@mkdir -p $(@D)
	$(call step,MPI $@)
	@$(if $(filter mpi,$*),rm -f $(filter-out $@,$(wildcard $(OUT)/spdnn-*.so)))
	@$(call mpi_compiler,$*) -std=c++20 -O2 -Wall -Wextra -DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1 -Isrc -fPIC \
	  $(if $(MPI_SONAME_$*),-c $< -o $(@:.so=.o),-shared $< -o $@)
	$(if $(MPI_SONAME_$*),$(link_to_soname))
# How this library's wrapper compiles, rewritten only when that changes, as another module is loaded, say.
$(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%): $(OUT)/generated/mpi-%: FORCE
	@mkdir -p $(@D)
	@{ command -v $(call mpi_compiler,$*); $(call mpi_compiler,$*) -show; } >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
FORCED += $(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%)
build/spdnn: $(MPI_PLUGINS)
