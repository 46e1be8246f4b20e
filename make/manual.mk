# Man pages and shell completions, under share/ as they are installed. The program prints them from the tables by which
# it parses its options.
MANUAL_COMMANDS := $(shell sed -n 's/^ *Command{"\([a-z]*\)".*/\1/p' src/cli/commands.cpp)
MAN_PAGES       := $(addprefix $(OUT)/share/man/man1/,spdnn.1 $(MANUAL_COMMANDS:%=spdnn-%.1))
COMPLETIONS     := $(addprefix $(OUT)/share/,bash-completion/completions/spdnn fish/vendor_completions.d/spdnn.fish)

$(OUT)/share/man/man1/spdnn.1: $(PROGRAM)
	@mkdir -p $(@D)
	@$< help --man >$@
$(OUT)/share/man/man1/spdnn-%.1: $(PROGRAM)
	@mkdir -p $(@D)
	@$< help --man $* >$@
$(OUT)/share/bash-completion/completions/spdnn: $(PROGRAM)
	@mkdir -p $(@D)
	@$< help --completion bash >$@
$(OUT)/share/fish/vendor_completions.d/spdnn.fish: $(PROGRAM)
	@mkdir -p $(@D)
	@$< help --completion fish >$@

##   man, completion              man pages, and completion of bash and fish, in share/ of the build folder
.PHONY: man completion
man: $(MAN_PAGES)
completion: $(COMPLETIONS)
