# Installing: the program, and the library for those who link it, by pkg-config or by CMake's find_package(spdnn).
PREFIX  ?= /usr/local
DESTDIR ?=
INSTALL ?= install

# The installed library contains neither src/cli nor src/bench.
PUBLIC_HEADERS    := $(wildcard include/spdnn/*)
INSTALLED_LIBRARY := $(OUT)/install/libspdnn.a
INSTALLED_TEXTS   := $(addprefix $(OUT)/install/,spdnn.pc spdnnConfig.cmake spdnnConfigVersion.cmake)
INSTALLED_LIBS    := -fopenmp $(patsubst -l:lib%.a,-l%,$(filter-out -lboost_program_options,$(LDLIBS)))

space := $(subst ,, )
$(INSTALLED_LIBRARY): $(call objects,$(filter-out src/bench/% src/cli/%,$(SOURCES))) $(ONNX_OBJECT)
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^
$(INSTALLED_TEXTS): $(OUT)/install/%: make/install/%.in Makefile make/install.mk
	@mkdir -p $(@D)
	@sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(INSTALLED_LIBS)|' \
	     -e 's|@CMAKE_LIBS@|$(subst $(space),;,$(strip $(INSTALLED_LIBS)))|' $< >$@

# A relocatable module file: it derives the prefix from its own path.
MODULE_FILE := $(OUT)/install/modulefile
$(MODULE_FILE): make/packaging/modulefile.in Makefile
	@mkdir -p $(@D)
	@sed 's|@VERSION@|$(VERSION)|' $< >$@

##   install                      library, headers and everything of install-program, to $(DESTDIR)$(PREFIX); PREFIX=/usr/local
##   install-program              the program with MPI plug-ins, man pages, completion, a module file, docs and jobs
##   install-jobs                 the cluster jobs alone
.PHONY: install install-program install-jobs
install install-program install-jobs: to := $(DESTDIR)$(PREFIX)
install: install-program $(INSTALLED_LIBRARY) $(INSTALLED_TEXTS)
	@$(INSTALL) -d $(to)/include/spdnn $(to)/lib/pkgconfig $(to)/lib/cmake/spdnn
	@$(INSTALL) -m 644 $(PUBLIC_HEADERS) $(to)/include/spdnn
	@$(INSTALL) -m 644 $(INSTALLED_LIBRARY) $(to)/lib
	@$(INSTALL) -m 644 $(OUT)/install/spdnn.pc $(to)/lib/pkgconfig
	@$(INSTALL) -m 644 $(filter %.cmake,$(INSTALLED_TEXTS)) $(to)/lib/cmake/spdnn
	@echo 'installed to $(to)'
install-program: install-jobs $(READY) $(MAN_PAGES) $(COMPLETIONS) $(MODULE_FILE)
	@$(INSTALL) -D -m 755 $(PROGRAM) $(to)/bin/spdnn
	@$(foreach plugin,$(filter %.so,$(READY)),$(INSTALL) -D -m 755 $(plugin) $(to)/lib/spdnn/$(notdir $(plugin)) &&) true
	@cd $(OUT)/share && find . -type f -exec $(INSTALL) -D -m 644 {} $(abspath $(to))/share/{} \;
	@$(INSTALL) -D -m 644 $(MODULE_FILE) $(to)/share/modulefiles/spdnn/$(VERSION)
	@$(INSTALL) -d $(to)/share/doc/spdnn/docs
	@$(INSTALL) -m 644 README.md CONTRIBUTING.md LICENSE CITATION.cff $(to)/share/doc/spdnn
	@$(INSTALL) -m 644 $(wildcard docs/*.*) $(to)/share/doc/spdnn/docs
# Installing never overwrites a site's own settings, $(PREFIX)/etc/spdnn/site.sh: see jobs/common.sh.
install-jobs:
	@$(foreach file,$(wildcard jobs/*.* jobs/examples/*),$(INSTALL) -D -m $(if $(filter %/submit.sh,$(file)),755,644) $(file) $(to)/share/spdnn/$(file) &&) true
	@$(INSTALL) -d $(to)/bin
	@ln -sfn ../share/spdnn/jobs/submit.sh $(to)/bin/spdnn-jobs
