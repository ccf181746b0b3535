# make          ./bench
# make test     unit, cli and fault tests (no GPU needed)
# make check    layers, headers, heads, METHOD.md
# make install  PREFIX=/usr/local: a relocatable tree
# make clean
CC      ?= gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
BUILD   ?= build
# CUDA headers: the pinned wheels first, then an installed toolkit.
CUDA_INCLUDE := $(firstword $(wildcard .deps/nvidia/cu13/include /usr/local/cuda/include))
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -ffp-contract=off $(WARN) -Iharness -isystem $(CUDA_INCLUDE) $(CFLAGS)
# Linked statically where Debian has the archive, so that the one file can be carried to a GPU machine.
LIBS    := -l:libyaml.a -l:libsqlite3.a -l:libjansson.a -l:libmd.a -lm -ldl -lpthread

SOURCES := $(filter-out harness/cli/main.c,$(wildcard harness/*/*.c harness/device/emu/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
MAIN    := $(BUILD)/harness/cli/main.o
LIBRARY := $(BUILD)/libbench.a
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))

V ?= 0
say = $(if $(filter 0,$V),@printf '  %-5s %s\n' $1 $2;)

all: bench
bench: $(MAIN) $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS)
$(LIBRARY): $(OBJECTS)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# The interpreter's hot loops want more than -O2; each file there picks its instruction sets itself (target_clones).
$(BUILD)/harness/device/emu/%.o: CFLAGS += -O3
$(BUILD)/tests/%: tests/unit/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,TEST,$<)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -o $@ $< $(LIBRARY) -lcmocka $(LIBS)
unit: $(UNIT)
	@set -e; for t in $(UNIT); do echo "== $$t"; $$t; done
clean:
	rm -rf $(BUILD) bench
.PHONY: all unit clean
.DELETE_ON_ERROR:
-include $(OBJECTS:.o=.d) $(MAIN:.o=.d) $(UNIT:=.d)
