# The Debian packages that the program, its tests and its tools need, declared here alone. PACKAGE=PROOF: the need is met
# if PROOF exists, wherever it came from: a header, an absolute path, or else a command.
ONNX_PROTO     ?= /usr/include/onnx/onnx.proto
CHART_JS       ?= /usr/share/javascript/chart.js/chart.min.js
BUILD_PACKAGES := g++ libboost-program-options-dev=boost/program_options.hpp libfmt-dev=fmt/format.h libfftw3-dev=fftw3.h \
	libmd-dev=sha256.h libxxhash-dev=xxhash.h nlohmann-json3-dev=nlohmann/json.hpp zlib1g-dev=zlib.h \
	libonnx-dev=$(ONNX_PROTO) libprotobuf-dev=google/protobuf/message_lite.h protobuf-compiler=protoc \
	libflatbuffers-dev=flatbuffers/flatbuffers.h flatbuffers-compiler=flatc \
	libzip-dev=zip.h libpng-dev=png.h libjpeg-dev=jpeglib.h libjs-chart.js=$(CHART_JS) \
	$(if $(filter 0,$(ONEDNN)),,libdnnl-dev=oneapi/dnnl/dnnl.hpp)
PYTHON_PACKAGES := $(BUILD_PACKAGES) pybind11-dev=pybind11/pybind11.h python3-dev=python3-config
TEST_PACKAGES  := $(PYTHON_PACKAGES) libgtest-dev=gtest/gtest.h bats jq curl ca-certificates=/etc/ssl/certs/ca-certificates.crt \
	python3 xz-utils=xz pkgconf=pkg-config tcl=tclsh mandoc procps=pkill openmpi-bin=mpirun libopenmpi-dev=mpicxx python3-venv=/usr/share/python-wheels \
	libonnx-testdata=/usr/share/libonnx-testdata/data \
	$(foreach module,numpy scipy jsonschema,python3-$(module)=/usr/lib/python3/dist-packages/$(module))
# Tests of reports need a browser and LaTeX, and a few others pandas, Matplotlib, CMake and fish (which brings the database of man
# pages along), whose installation would take a twentieth of the processor time of `make test`. Without these they skip,
# except on CI, where they fail.
REPORT_PACKAGES := chromium chromium-driver=chromedriver python3-selenium=/usr/lib/python3/dist-packages/selenium \
	texlive-latex-base=pdflatex cmake fish $(foreach module,pandas matplotlib,python3-$(module)=/usr/lib/python3/dist-packages/$(module))
# Tests compare with onnxruntime, which runs under node: it is no Debian package, so npm installs these versions. Without
# node or npm they skip, except on CI, where they fail.
ONNXRUNTIME_PACKAGES := nodejs=node npm
ONNXRUNTIME    := onnxruntime-node@1.30.0 onnxruntime-common@1.30.0
MPI_PACKAGES   := openmpi-bin=mpirun.openmpi libopenmpi-dev=mpicxx.openmpi mpich=mpirun.mpich libmpich-dev=mpicxx.mpich strace
DIST_PACKAGES  := $(BUILD_PACKAGES) $(filter-out strace,$(MPI_PACKAGES)) git binutils=strip
FORMAT_PACKAGES := clang-format
LINT_PACKAGES  := $(FORMAT_PACKAGES) clang-tidy shellcheck
FUZZ_PACKAGES  := $(TEST_PACKAGES) clang=clang++ libclang-rt-dev=sanitizer/asan_interface.h libomp-dev=omp.h
# Slurm's tests skip where these packages cannot be installed.
SLURM_PACKAGES := $(TEST_PACKAGES) slurmctld slurmd slurm-client=sbatch munge=munged
BENCH_PACKAGES := $(BUILD_PACKAGES) libgraphblas-dev=GraphBLAS.h python3-matplotlib=/usr/lib/python3/dist-packages/matplotlib

# One stamp for each list. The recipe installs missing packages where it may.
$(addprefix build/.deps-,BUILD PYTHON TEST REPORT ONNXRUNTIME MPI DIST FORMAT LINT FUZZ BENCH): build/.deps-%: make/packages.mk
	@mkdir -p build
	@CXX='$(if $(filter FUZZ,$*),$(FUZZ_CXX),$(CXX))' ./tests/tools/install_packages.sh $($*_PACKAGES)
	@touch $@

# Where it cannot be installed, it is tried again each time.
build/onnxruntime: make/packages.mk
	@mkdir -p $(@D)
	@./tests/tools/install_onnxruntime.sh $@ $(ONNXRUNTIME)

##   deps                         checks the packages that building, testing and linting need; installs missing ones where it may
.PHONY: deps
deps: build/.deps-BUILD build/.deps-TEST build/.deps-REPORT build/.deps-ONNXRUNTIME build/.deps-LINT
	@$(MAKE) --no-print-directory build/onnxruntime
