# PORTABLE=1: a program that runs on other machines of this architecture whose C library is glibc 2.28 or newer (Debian 10, RHEL 8,
# Ubuntu 20.04), whatever else they have. It holds the C++ runtime, libgomp and the libraries that it is linked with.
#   make/portable/stubs.sh   what stands for the C library when it is linked, with the symbols and versions of 2.28
#   make/portable/compat.c   what 2.28 does not have, and newer headers and libraries ask for
#   make/portable/start.c    how a program of a newer crt1.o starts with 2.28
#   make/portable/check.sh   whether it came out so
# Objects are compiled as always. libspdnn.a, the Python module and spdnn_onednn.so are those of the machine that builds.
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
