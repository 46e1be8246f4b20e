# MPI: a shared object beside the program for each MPI library, which the program opens when a launcher has started it as one
# of several ranks. The program itself needs no MPI, neither to build nor to run.

# Compiler wrappers: mpicxx, the first in PATH, as a module puts its own there; where wrappers that are named after their
# library stand beside it, as Debian has them, those.
MPICXX := $(shell command -v mpicxx)
MPI_LIBRARIES ?= $(if $(MPICXX),$(or $(sort $(patsubst mpicxx.%,%,$(notdir $(wildcard $(MPICXX).*)))),mpi))
mpi_compiler = $(MPICXX)$(if $(filter mpi,$1),,.$1)
ifeq ($(MPI)$(MPI_LIBRARIES),1)
  $(error MPI=1, but no mpicxx was found; load or install an MPI library, or set MPI=0)
endif
MPI_PLUGINS := $(if $(filter 0,$(MPI)),,$(MPI_LIBRARIES:%=$(OUT)/spdnn-%.so))

# -DOMPI_SKIP_MPICXX: without OpenMPI's own C++ library. A plug-in of no telling name serves any launcher, but only where
# there is none that is named after the launcher's library: those of an earlier build go.
$(MPI_PLUGINS): $(OUT)/spdnn-%.so: src/cluster/mpi_plugin.cpp src/cluster/mpi_functions.hpp $(OUT)/generated/mpi-%
	@mkdir -p $(@D)
	$(call step,MPI $@)
	@$(if $(filter mpi,$*),rm -f $(filter-out $@,$(wildcard $(OUT)/spdnn-*.so)))
	@$(call mpi_compiler,$*) -std=c++20 -O2 -Wall -Wextra -DOMPI_SKIP_MPICXX=1 -Isrc -fPIC -shared $< -o $@
# How this library's wrapper compiles, rewritten only when that changes, as another module is loaded, say.
$(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%): $(OUT)/generated/mpi-%: FORCE
	@mkdir -p $(@D)
	@{ command -v $(call mpi_compiler,$*); $(call mpi_compiler,$*) -show; } >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
FORCED += $(MPI_LIBRARIES:%=$(OUT)/generated/mpi-%)
build/spdnn: $(MPI_PLUGINS)
