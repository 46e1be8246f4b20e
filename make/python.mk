# The Python package for PYTHON=: a pybind11 module of the library, and the Python code of its interface.
PYTHON ?= /usr/bin/python3
export PYTHON
PYTHON_PACKAGE := $(OUT)/python/spdnn
PYTHON_SOURCES := $(patsubst python/%,$(OUT)/python/%,$(shell find python/spdnn -type f -not -name '*.pyc'))
# The bindings include public headers only. They are compiled at -Og, because they take little of a call's time.
PYTHON_CPPFLAGS = -Iinclude -DSPDNN_PYTHON_VERSION='"$(VERSION)"' $$(cat $(OUT)/generated/python_flags)
PYTHON_CXXFLAGS = $(filter-out -O% -Wpedantic -Wshadow,$(CXXFLAGS)) -Og -fvisibility=hidden

# One unit, since pybind11's templates take most of the time.
PYTHON_UNIT   := $(OUT)/generated/python.cpp
PYTHON_OBJECT := $(PYTHON_UNIT:.cpp=.o)
$(PYTHON_UNIT): FORCE
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(sort $(wildcard python/*.cpp)) >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@
$(PYTHON_OBJECT): $(PYTHON_UNIT) Makefile $(OUT)/generated/python_flags | build/.deps-PYTHON
	$(call step,CXX $(words $(wildcard python/*.cpp)) files of python)
	@$(CXX) -I. $(PYTHON_CPPFLAGS) $(PYTHON_CXXFLAGS) -MMD -MP -c $< -o $@
# The module exports its entry point alone. It links shared libraries even where a portable program links static ones,
# which may not be position-independent.
static := -Wl,-Bstatic
$(PYTHON_PACKAGE)/_core.so: $(PYTHON_OBJECT) $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK $@)
	@$(CXX) $(CXXFLAGS) -shared -Wl,--as-needed -Wl,--exclude-libs,ALL $^ $(patsubst -l:lib%.a,-l%,$(filter-out $(static),$(LDLIBS))) -o $@
# The program, for `python -m spdnn`, and the plug-ins that it and the module open.
PYTHON_PROGRAM := $(patsubst $(OUT)/%,$(PYTHON_PACKAGE)/%,$(PROGRAM) $(ONEDNN_PLUGIN) $(MPI_PLUGINS))
$(PYTHON_PROGRAM): $(PYTHON_PACKAGE)/%: $(OUT)/%
	@mkdir -p $(@D)
	@cp --remove-destination $< $@
$(PYTHON_PACKAGE)/%: python/spdnn/%
	@mkdir -p $(@D)
	@cp $< $@
FORCED += $(OUT)/generated/python_flags $(PYTHON_UNIT)
# Include paths of this Python and its pybind11, rewritten only when they change.
$(OUT)/generated/python_flags: python/header_flags.py FORCE
	@mkdir -p $(@D)
	@$(PYTHON) $< >$@.$$PPID
	@cmp -s $@.$$PPID $@ && rm $@.$$PPID || mv $@.$$PPID $@

##   python                       the package spdnn of PYTHON=/usr/bin/python3, in build/python
.PHONY: python
python: $(PYTHON_PACKAGE)/_core.so $(PYTHON_PROGRAM) $(PYTHON_SOURCES)
	@ln -sfn $(patsubst build/%,%,$(OUT))/python build/python
