# The Python package: the library as a module of PYTHON=, with pybind11, and Python code that makes its interface of that.
PYTHON ?= /usr/bin/python3
export PYTHON
PYTHON_PACKAGE := $(OUT)/python/spdnn
PYTHON_SOURCES := $(patsubst python/%,$(OUT)/python/%,$(shell find python/spdnn -type f -not -name '*.pyc'))
# It sees what is installed and no more. Its own code takes no time worth optimising for, but much time to compile.
PYTHON_CPPFLAGS = -Iinclude -DSPDNN_PYTHON_VERSION='"$(VERSION)"' $$(cat $(OUT)/generated/python_flags)
PYTHON_CXXFLAGS = $(filter-out -O% -Wpedantic -Wshadow,$(CXXFLAGS)) -O1 -fvisibility=hidden

PYTHON_OBJECTS := $(patsubst %.cpp,$(OUT)/%.o,$(wildcard python/*.cpp))
$(PYTHON_OBJECTS): $(OUT)/%.o: %.cpp Makefile $(OUT)/generated/python_flags | build/.deps-PYTHON
	@mkdir -p $(@D)
	$(call step,CXX $<)
	@$(CXX) $(PYTHON_CPPFLAGS) $(PYTHON_CXXFLAGS) -MMD -MP -c $< -o $@
# Of the libraries in it, nothing but the module's entry can be seen from outside. Those that are linked statically into a
# portable program are shared here, as they need not be fit for a module.
static := -Wl,-Bstatic
$(PYTHON_PACKAGE)/_core.so: $(PYTHON_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK $@)
	@$(CXX) $(CXXFLAGS) -shared -Wl,--as-needed -Wl,--exclude-libs,ALL $^ $(patsubst -l:lib%.a,-l%,$(filter-out $(static),$(LDLIBS))) -o $@
# The program, for `python -m spdnn`, and what it and the module open beside themselves.
PYTHON_PROGRAM := $(patsubst $(OUT)/%,$(PYTHON_PACKAGE)/%,$(PROGRAM) $(ONEDNN_PLUGIN) $(MPI_PLUGINS))
$(PYTHON_PROGRAM): $(PYTHON_PACKAGE)/%: $(OUT)/%
	@mkdir -p $(@D)
	@cp --remove-destination $< $@
$(PYTHON_PACKAGE)/%: python/spdnn/%
	@mkdir -p $(@D)
	@cp $< $@
FORCED += $(OUT)/generated/python_flags
# Where the headers of this Python and of its pybind11 are, rewritten only when that changes.
$(OUT)/generated/python_flags: python/header_flags.py FORCE
	@mkdir -p $(@D)
	@$(PYTHON) $< >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@

##   python                       the package spdnn of PYTHON=/usr/bin/python3, in build/python
.PHONY: python
python: $(PYTHON_PACKAGE)/_core.so $(PYTHON_PROGRAM) $(PYTHON_SOURCES)
	@ln -sfn $(patsubst build/%,%,$(OUT))/python build/python
