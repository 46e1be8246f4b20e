# PORTABLE=1: a program for every machine of this architecture with glibc 2.28 or newer (Debian 10, RHEL 8, Ubuntu 20.04). It
# contains the C++ runtime, libgomp and its other libraries.
#   make/portable/stubs.sh   makes stubs of the C library to link against, with the symbols and versions of 2.28
#   make/portable/compat.c   defines functions that newer headers and libraries use and 2.28 lacks
#   make/portable/start.c    starts a program linked with a newer crt1.o under 2.28
#   make/portable/check.sh   checks the result
# Objects are compiled as always. libspdnn.a, the Python module and spdnn_onednn.so are not portable.
ifeq ($(PORTABLE),1)
STUBS           := $(OUT)/glibc-2.28
COMPAT          := $(OUT)/compat.o
PORTABLE_FLAGS  := -static-libstdc++ -static-libgcc -L$(STUBS) -Wl,--as-needed -Wl,--exclude-libs,ALL
$(PROGRAM): link_flags = $(PORTABLE_FLAGS) -Wl,--wrap=__libc_start_main
$(PROGRAM): $(COMPAT) $(OUT)/start.o
$(MPI_PLUGINS): $(COMPAT)
$(PROGRAM) $(MPI_PLUGINS): | $(STUBS)/libc.so
$(COMPAT) $(OUT)/start.o: $(OUT)/%.o: make/portable/%.c make/portable.mk
	@mkdir -p $(@D)
	$(call step,CC $<)
	@$(CXX) -x c -std=c17 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -c $< -o $@
$(STUBS)/libc.so: make/portable/stubs.sh make/portable.mk
	$(call step,GEN $(STUBS))
	@CC='$(CXX)' $< $(abspath $(STUBS))
endif
