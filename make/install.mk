# Installing: the program, and the library for those who link it, by pkg-config or by CMake's find_package(spdnn).
PREFIX  ?= /usr/local
DESTDIR ?=
INSTALL ?= install

# Public headers need neither engines nor plans, and the library that is installed holds no command.
PUBLIC_HEADERS    := $(filter-out %/engine.hpp %/model_engine.hpp %/support.hpp %/plan.hpp %/layer_stream.hpp,$(wildcard include/spdnn/*.hpp))
INSTALLED_LIBRARY := $(OUT)/install/libspdnn.a
INSTALLED_TEXTS   := $(addprefix $(OUT)/install/,spdnn.pc spdnnConfig.cmake spdnnConfigVersion.cmake)
INSTALLED_LIBS    := -fopenmp $(patsubst -l:lib%.a,-l%,$(filter-out -lboost_program_options,$(LDLIBS)))

space := $(subst ,, )
$(INSTALLED_LIBRARY): $(call objects,$(filter-out src/cli/%,$(SOURCES))) $(ONNX_OBJECT)
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^
$(INSTALLED_TEXTS): $(OUT)/install/%: make/install/%.in Makefile make/install.mk
	@mkdir -p $(@D)
	@sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(INSTALLED_LIBS)|' \
	     -e 's|@CMAKE_LIBS@|$(subst $(space),;,$(strip $(INSTALLED_LIBS)))|' $< >$@

##   install                      program, library, headers, man pages, completion and docs, to $(DESTDIR)$(PREFIX); PREFIX=/usr/local
.PHONY: install
install: to := $(DESTDIR)$(PREFIX)
install: $(READY) $(INSTALLED_LIBRARY) $(INSTALLED_TEXTS) $(MAN_PAGES) $(COMPLETIONS)
	@$(INSTALL) -d $(to)/bin $(to)/include/spdnn $(to)/lib/pkgconfig $(to)/lib/cmake/spdnn
	@$(INSTALL) -m 755 $(PROGRAM) $(to)/bin/spdnn
	@$(foreach plugin,$(filter %.so,$(READY)),$(INSTALL) -D -m 755 $(plugin) $(to)/lib/spdnn/$(notdir $(plugin)) &&) true
	@cd $(OUT)/share && find . -type f -exec $(INSTALL) -D -m 644 {} $(abspath $(to))/share/{} \;
	@$(INSTALL) -d $(to)/share/doc/spdnn/docs
	@$(INSTALL) -m 644 README.md LICENSE CITATION.cff $(to)/share/doc/spdnn
	@$(INSTALL) -m 644 $(wildcard docs/*.*) $(to)/share/doc/spdnn/docs
	@$(INSTALL) -m 644 $(PUBLIC_HEADERS) $(to)/include/spdnn
	@$(INSTALL) -m 644 $(INSTALLED_LIBRARY) $(to)/lib
	@$(INSTALL) -m 644 $(OUT)/install/spdnn.pc $(to)/lib/pkgconfig
	@$(INSTALL) -m 644 $(filter %.cmake,$(INSTALLED_TEXTS)) $(to)/lib/cmake/spdnn
	@echo 'installed to $(to)'
