# CUDA: whether this build has it, its compiler, and the files that need it.
nvcc := $(firstword $(wildcard $(CUDA)/bin/nvcc) $(shell command -v nvcc))
NVCC := $(if $(nvcc),$(strip $(CCACHE) $(nvcc)))

# Tests that need no device, lint and the host's sanitizers build without CUDA unless GPU= is given.
HOST_GPU := $(if $(filter command,$(firstword $(origin GPU))),$(GPU),0)
ifeq ($(GPU),auto)
  override GPU := $(if $(NVCC),1,0)
endif
ifeq ($(GPU)$(NVCC),1)
  $(error GPU=1, but nvcc was not found; set CUDA=/path/to/cuda or GPU=0)
endif

# The host half of an engine includes no CUDA header. Without CUDA it is compiled for the unit tests alone.
HOST_HALVES  := $(addprefix src/engines/cuda/,cascade/front_filter.cpp cascade/front_program.cpp cascade/program.cpp cascade/setup.cpp cascade/tail_program.cpp conv_2to4/columns.cpp conv_direct/broadcast.cpp conv_direct/direct.cpp conv_direct/groups.cpp conv_direct/tilings.cpp conv_ecr/ecr.cpp conv_generated/code.cpp conv_generated/digest.cpp conv_generated/instructions.cpp conv_generated/layer_code.cpp conv_generated/tiling.cpp conv_pixels/packing.cpp conv_pixels/pixels.cpp conv_pixels/tiles.cpp layers/activation.cpp layers/library_plan.cpp \
	$(addprefix resident/,bundles.cpp layout.cpp rounds.cpp view.cpp) retire/duplicate_search.cpp spmm/work_items.cpp)
CUDA_SOURCES := $(sort $(filter-out $(HOST_HALVES),$(shell find src -path '*/cuda/*' \( -name '*.cpp' -o -name '*.cu' \))))

CUDA_CPPFLAGS := -DSPDNN_WITH_CUDA -isystem $(CUDA)/include
CUDA_LDLIBS   := -L$(CUDA)/lib64 -lcudart_static -ldl -lrt -lpthread -Wl,-rpath,$(CUDA)/lib64
NVCCFLAGS     := -DSPDNN_WITH_CUDA -std=c++20 -O3 -lineinfo -Xcompiler -Wall,-fopenmp,-fPIC --expt-relaxed-constexpr \
	$(foreach arch,$(ARCH),-gencode arch=compute_$(arch),code=sm_$(arch))
