# An archive of the portable program with MPI plug-ins, man pages, completion, docs, jobs, a module file, and the licences of the
# linked libraries. It lacks oneDNN's plug-in, because Debian's oneDNN needs a newer glibc than 2.28. The build is reproducible:
# one commit, one archive. `spdnn --version` prints the commit, which the archive's name omits.
DIST_NAME := spdnn-$(VERSION)-$(shell uname -m)-linux$(if $(filter 1,$(GPU)),-cuda)
DIST_TREE := $(OUT)/dist/$(DIST_NAME)
# Licences of the statically linked packages, and the full texts that these refer to.
LICENCES  := $(patsubst %,/usr/share/doc/%/copyright,gcc-12-base libboost-program-options1.74-dev libfmt-dev \
	nlohmann-json3-dev libmd-dev zlib1g-dev libxxhash-dev libprotobuf-dev libflatbuffers-dev libonnx-dev libjs-chart.js)
CUDA_LICENCE := $(firstword $(wildcard $(CUDA)/EULA.txt $(CUDA)/dist-info/nvidia_cuda_runtime-*/licenses/*))
LICENCES  += $(addprefix /usr/share/common-licenses/,GPL-2 GPL-3 Apache-2.0)

##   dist                         build/spdnn-VERSION-x86_64-linux.tar.gz, which runs with glibc 2.28 or newer; needs Debian 12
.PHONY: dist run-dist print-archive
print-archive:
	@echo $(DIST_NAME).tar.gz
dist: build/.deps-DIST
	@$(MAKE) --no-print-directory PORTABLE=1 ONEDNN=0 MPI=1 MPI_LIBRARIES='mpich mpich-debian openmpi' run-dist
run-dist: $(READY)
	@rm -rf $(DIST_TREE)
	@$(MAKE) --no-print-directory DESTDIR=$(OUT)/dist/ PREFIX=$(DIST_NAME) install-program
	@strip $(DIST_TREE)/bin/spdnn $(DIST_TREE)/lib/spdnn/*.so
	@./make/portable/check.sh $(DIST_TREE)/bin/spdnn $(DIST_TREE)/lib/spdnn/*.so
	@$(INSTALL) -D -m 644 make/packaging/licences.md $(DIST_TREE)/share/doc/spdnn/licences/README.md
	@$(foreach file,$(LICENCES),$(INSTALL) -m 644 $(file) $(DIST_TREE)/share/doc/spdnn/licences/$(notdir $(patsubst %/copyright,%,$(file))) &&) true
	@$(if $(filter 1,$(GPU)),$(INSTALL) -m 644 $(CUDA_LICENCE) $(DIST_TREE)/share/doc/spdnn/licences/nvidia_cuda_runtime)
	@tar -C $(OUT)/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) --mode=u=rwX,go=rX \
	  -cf - $(DIST_NAME) | gzip -9n >build/$(DIST_NAME).tar.gz
	@ln -f build/$(DIST_NAME).tar.gz build/spdnn.tar.gz
	@ls -l build/$(DIST_NAME).tar.gz
