# Format and lint.
SCRIPTS   := $(shell find tests data_scripts .ci -type f \( -name '*.sh' -o -name '*.bash' -o -name run \) | LC_ALL=C sort)
FORMATTED := $(shell find src include tests \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)

.PHONY: lint run-lint format format-check
##   format, format-check         clang-format
format: build/.deps-LINT
	clang-format -i $(FORMATTED)
format-check: build/.deps-LINT
	clang-format --dry-run -Werror $(FORMATTED)

##   lint                         shellcheck and clang-tidy
lint: build/.deps-LINT build/.deps-BUILD
	@$(MAKE) --no-print-directory GPU=0 run-lint
run-lint: $(OUT)/generated/build_values.hpp
	shellcheck $(SCRIPTS)
	printf '%s\n' $(SOURCES) src/main.cpp | xargs -P$$(nproc) -n 4 sh -c 'clang-tidy --quiet "$$@" -- -std=c++20 $(INCLUDES)' tidy
