# spdnn. `make help` lists the targets and the options; make/ holds them by purpose.
VERSION := 0.1.0

## options:
##   BUILD=release|debug|asan     GPU=0|1|auto     CUDA=/path/to/cuda     ARCH="80 90"     MPI=0|1|auto     ONEDNN=0|1
##   PORTABLE=1                   links the libraries into the program, which then runs where they are not installed
##   STRICT=1                     makes warnings errors, as on CI
##   CCACHE=                      compiles without ccache, which is used where it is installed
BUILD  ?= release
GPU    ?= auto
MPI    ?= auto
CUDA   ?= /usr/local/cuda
ARCH   ?= 80 90
STRICT ?= $(if $(CI),1)
CCACHE ?= $(shell command -v ccache)

# As many jobs as there are processors, unless -j says otherwise.
ifeq ($(MAKELEVEL),0)
  MAKEFLAGS += -j$(shell nproc)
endif
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo clean help FORCE

## targets:
##   all                          the program, build/spdnn (default)
all: build/spdnn

include make/packages.mk
include make/cuda.mk
include make/program.mk
include make/mpi.mk
include make/onednn.mk
include make/install.mk
include make/python.mk
include make/tests.mk
include make/fuzz.mk
include make/bench.mk
include make/lint.mk

##   demo                         the official 1024 x 120 problem, or the one of MNIST=/path/to/train-images-idx3-ubyte.gz
demo: build/spdnn
	@./data_scripts/demo.sh build/spdnn build/demo $(MNIST)

##   clean                        removes build/
clean:
	rm -rf build

##   help                         this text
help:
	@sed -n 's/^## \?//p' $(filter Makefile %.mk,$(MAKEFILE_LIST))

FORCE:
-include $(shell find $(OUT) $(FUZZ_OUT) -name '*.d' 2>/dev/null)
