# spdnn. `make help` lists the targets and the options; make/ holds them by purpose.
VERSION := 0.1.0

## options:
##   BUILD=release|debug|asan     GPU=0|1|auto     CUDA=/path/to/cuda     ARCH="80 90"     MPI=0|1|auto     ONEDNN=0|1
##   PORTABLE=1                   links libraries statically; the program then needs only glibc 2.28 or newer
##   UNITY=0                      compiles each source file alone, which is quicker while one edits a single file
##   STRICT=1                     makes warnings errors, and checks format strings, as on CI
##   CCACHE=                      compiles without ccache, which is the default where it is installed
##   MNIST=FILE                   MNIST's training images, if they are not in build/data
BUILD  ?= release
GPU    ?= auto
MPI    ?= auto
CUDA   ?= /usr/local/cuda
ARCH   ?= 80 90
STRICT ?= $(if $(CI),1)
# data_scripts/mnist.sh reads MNIST for the demo, benchmarks and tests.
export MNIST MPI
CCACHE ?= $(shell command -v ccache)

# As many jobs as there are processors, unless -j says otherwise.
ifeq ($(MAKELEVEL),0)
  MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: all demo clean help FORCE

## targets:
##   all                          the program, build/spdnn (default)
all: build/spdnn

include make/packages.mk
include make/cuda.mk
include make/program.mk
include make/mpi.mk
include make/portable.mk
include make/onednn.mk
include make/manual.mk
include make/install.mk
include make/dist.mk
include make/python.mk
include make/tests.mk
include make/fuzz.mk
include make/bench.mk
include make/lint.mk

##   demo                         runs the official 1024 x 120 problem, on the official images if MNIST is available
demo: build/spdnn
	@./data_scripts/demo.sh build/spdnn build/demo

##   clean                        removes build/ except build/data, where data_scripts/fetch_mnist.sh puts MNIST
clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name data -exec rm -rf {} +

##   help                         this text
help:
	@sed -n 's/^## \?//p' $(filter Makefile %.mk,$(MAKEFILE_LIST))

FORCE:
-include $(shell find $(OUT) $(FUZZ_OUT) -type f -name '*.d' 2>/dev/null)
