# MPI: a shared object beside the program for each MPI library, which the program opens when a launcher has started it as one
# of several ranks. The program itself needs no MPI, neither to build nor to run.

# Compiler wrappers: those that are named after their library, as Debian has them, or else the one that there is.
MPI_LIBRARIES ?= $(sort $(patsubst mpicxx.%,%,$(notdir $(wildcard $(addsuffix /mpicxx.*,$(subst :, ,$(PATH)))))))
ifeq ($(MPI_LIBRARIES)$(filter 0,$(MPI)),)
  MPI_LIBRARIES := $(if $(shell command -v mpicxx),mpi)
endif
mpi_compiler = $(if $(filter mpi,$1),mpicxx,mpicxx.$1)
ifeq ($(MPI)$(MPI_LIBRARIES),1)
  $(error MPI=1, but no mpicxx was found; load or install an MPI library, or set MPI=0)
endif
MPI_PLUGINS := $(if $(filter 0,$(MPI)),,$(MPI_LIBRARIES:%=$(OUT)/spdnn-%.so))

# -DOMPI_SKIP_MPICXX: without OpenMPI's own C++ library.
$(OUT)/spdnn-%.so: src/cluster/mpi_plugin.cpp src/cluster/mpi_functions.hpp
	@mkdir -p $(@D)
	@echo 'MPI  $@'
	@$(call mpi_compiler,$*) -std=c++20 -O2 -Wall -Wextra -DOMPI_SKIP_MPICXX=1 -Isrc -fPIC -shared $< -o $@
$(PROGRAM): | $(MPI_PLUGINS)
