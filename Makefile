# make            ./bench, on all processors (JOBS=N, -jN: on N)
# make test       check, unit, cli and fault tests; needs no GPU
# make unit       the unit tests of what changed since they passed; unit-all: all of them
# make test-all, long  the same, then what takes long; that alone
# make check      layers, headers, heads, columns, help (ci/check)
# make sanitize   unit tests, and the cli and fault tests that are not heavy, under AddressSanitizer and UndefinedBehaviorSanitizer
# make sanitize-unit, sanitize-build, sanitize-all  the unit tests alone, as CI runs them; what they need; everything of make test
# make fuzz       mutated YAML, heads, PTX, cubins and databases under the same sanitizers, FUZZ_SECONDS each
# make bench-emu  how fast the interpreter runs the smoke and EDSR scenarios here
# make bench-cost  what a run costs beside its measuring, on a GPU: the figures that were promised, and what this machine makes of them
# make coverage-emu  textbook kernels for every architecture on the interpreter: the share whose results are right
# make coverage-intervals  what the 95 % intervals hold and how wide they are, in a simulation of dependent rounds
# make mutate     how many small lies in the code that decides the unit tests notice (ci/mutate; MUTATE='--module timing')
# make install    PREFIX=/usr/local DESTDIR=: a relocatable tree
# make carry      .carry/: what a GPU machine without network needs to run this build
# make dist       .dist/: one tarball for any x86-64 Linux with glibc 2.34: no root, no packages
# make clean      V=1 shows the commands
#
# A new .c or test_*.c needs no line here. A folder that CUPTI's C++-only header forces into C++ holds one *_shim.cpp.
CC      ?= gcc
CXX     ?= g++
# Only the interpreter has hot loops (below); at -O2 -g everything else takes half as long again to compile.
CFLAGS  ?= -O1 -g1
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
BUILD   ?= build
BIN     ?= bench
PREFIX  ?= /usr/local
DESTDIR ?=
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 20
V       ?= 0
JOBS    ?= $(shell nproc)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

# CUDA headers: the pinned wheels first, then an installed toolkit.
CUDA_INCLUDE := $(firstword $(wildcard .deps/nvidia/cu13/include /usr/local/cuda/include))
INCLUDE    := -Iharness -I. $(addprefix -isystem ,$(CUDA_INCLUDE))
ALL_CFLAGS  = -std=c17 -D_GNU_SOURCE -ffp-contract=off $(WARN) $(INCLUDE) $(CFLAGS)
ALL_CXXFLAGS = -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -Wno-unused-parameter $(INCLUDE) $(CFLAGS)
# Linked statically where Debian has the archive, so that the one file can be carried to a GPU machine.
LIBS    := -l:libyaml.a -l:libsqlite3.a -l:libjansson.a -l:libmd.a -l:libpng16.a -l:libz.a -lm -ldl -lpthread

SOURCES := $(sort $(filter-out harness/cli/main.c,$(shell find harness -name '*.c')))
SHIMS   := $(sort $(shell find harness -name '*_shim.cpp'))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(SHIMS:%.cpp=$(BUILD)/%.o)
MAIN    := $(BUILD)/harness/cli/main.o
LIBRARY := $(BUILD)/libbench.a
# What the unit tests are linked with. The sanitized library is large: as a shared object it is linked once instead of into each of them.
UNIT_LIBRARY ?= $(LIBRARY)
UNIT_CFLAGS  ?=
ROWS    := $(patsubst %.c,%.so,$(wildcard kernels/variants/*/*.c kernels/python/*.c))
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
# The C++ runtime goes into the file too; plain C links as before when there is no shim.
LINK    := $(if $(SHIMS),$(CXX) -static-libstdc++ -static-libgcc,$(CC))

# What `bench --version` and every stored run tell. Written only when it changed, so that only the files that name it are built again.
COMMIT_H     := $(BUILD)/commit.h
COMMIT_USERS := $(patsubst %.c,$(BUILD)/%.o,$(shell grep -rlw BENCH_COMMIT --include='*.c' harness))
$(shell sh ci/commit $(COMMIT_H))

# Only harness/device includes them (ci/check layers).
cuda_headers = $(if $(CUDA_INCLUDE)$(filter-out $(BUILD)/harness/device/%,$@),,$(error no CUDA headers in .deps/nvidia/cu13/include or /usr/local/cuda/include: sh ci/setup make))
, := ,
say = $(if $(filter 0,$V),@printf '  %-5s %s\n' $1 $2;)

all: $(BIN) $(ROWS)
# Rows that call a vendor's library: foreign code like anybody's (docs/FOREIGN.md). They lie beside their sources, for every build: no sanitizer in them.
kernels/%.so: kernels/%.c harness/op/foreign.h Makefile
	$(call say,SO,$@)$(CC) $(filter-out -fsanitize% -fno-sanitize%,$(ALL_CFLAGS)) -shared -fPIC -s -o $@ $<
$(BIN): $(MAIN) $(LIBRARY)
	$(call say,LINK,$@)$(LINK) $(CFLAGS) -o $@ $^ $(LIBS)
$(LIBRARY): $(OBJECTS)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^
$(BUILD)/libbench.so: $(OBJECTS)
	$(call say,LINK,$@)$(LINK) $(CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^
$(BUILD)/%.o: %.c Makefile
	@$(cuda_headers)mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/%.o: %.cpp Makefile
	@$(cuda_headers)mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<
$(COMMIT_USERS): $(COMMIT_H)
$(COMMIT_USERS): INCLUDE += -include $(COMMIT_H)
# The interpreter's hot loops want -O3. The files that read a kernel, draw inputs, compute references and compare with them want -O2: it takes
# a sixth off a run on emu. On x86-64 only a processor without AVX2 runs the portable handlers.
EMU_OPTIMISE ?= -O3
READ_OPTIMISE ?= -O2
$(BUILD)/harness/emu/%.o: CFLAGS += $(EMU_OPTIMISE)
$(patsubst %,$(BUILD)/harness/%/%.o,emu/decode measure/emulate device/ptx op base measure/verify): CFLAGS += $(READ_OPTIMISE)
# Under a sanitizer -O1 takes half as long again to compile as -O0, and these take little of the tests' time. SANITIZE says CFLAGS on make's
# command line, which only `override` adds to.
COLD_OPTIMISE ?=
$(patsubst %,$(BUILD)/harness/%/%.o,cli counter gate report run store): override CFLAGS += $(COLD_OPTIMISE)
ifeq ($(shell uname -m),x86_64)
$(BUILD)/harness/emu/run/isa_portable.o: override CFLAGS += $(if $(EMU_OPTIMISE),-O1 -foptimize-sibling-calls,$(COLD_OPTIMISE))
endif
# Vectors wider than the portable processor has pass between inlined functions only.
$(BUILD)/harness/emu/run/isa_portable.o: WARN += -Wno-psabi
# A test's object is its own target: a change of the library links the tests again and compiles none.
$(BUILD)/tests/%.o: tests/unit/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) $(UNIT_CFLAGS) -Itests -MMD -MP -c -o $@ $<
# These compute for seconds themselves.
$(patsubst %,$(BUILD)/tests/test_%.o,bound reference): override UNIT_CFLAGS := $(UNIT_CFLAGS:-O0=-O1)
$(UNIT): %: %.o $(UNIT_LIBRARY)
	$(call say,LINK,$@)$(LINK) $(CFLAGS) -o $@ $^ $(if $(filter %.so,$(UNIT_LIBRARY)),-Wl$(,)-rpath$(,)$(abspath $(BUILD))) -lcmocka $(LIBS)
$(BUILD)/fuzz/%.o: tests/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP -c -o $@ $<
$(FUZZERS): %: %.o $(BUILD)/fuzz/driver.o $(LIBRARY)
	$(call say,LINK,$@)$(LINK) $(CFLAGS) -o $@ $^ $(LIBS)
# What can be compiled before the CUDA headers are there: ci/setup does, while it fetches them.
early: $(filter-out $(BUILD)/harness/device/%,$(OBJECTS)) $(MAIN)
units: $(UNIT)
# Where .ci/run runs the unit tests sanitized (APART), these run here too: the interpreter is compiled in another way there, and some tests
# leave out a part. Any other call of make does not look for them.
PLAIN   = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/unit/test_emu*.c) \
                     $(shell grep -lE 'include "emu[/_]|__SANITIZE' tests/unit/test_*.c)))
TESTED := $(if $(filter unit,$(APART)),$(PLAIN),$(UNIT))
test: all $(TESTED) $(BUILD)/coverage $(BUILD)/fuzz/fuzz_ptx
	@UNITS="$(notdir $(TESTED))" BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run check unit cli faults
test-all: test
	@$(MAKE) --no-print-directory long
long: all $(BUILD)/coverage $(BUILD)/fuzz/fuzz_ptx
	@BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run --long cli faults
unit: units
	@BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run --changed unit
unit-all: units
	@BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run unit
cli faults: all $(BUILD)/coverage $(BUILD)/fuzz/fuzz_ptx
	@BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run $@
check: all
	@BENCH=$(abspath $(BIN)) BUILD=$(abspath $(BUILD)) sh tests/run check

# The same tests on a build that stops at the first bad access or undefined operation, and is some five times slower: what is heavy is left to
# sanitize-all, so that sanitize ends in minutes.
SANITIZE := BUILD=build-asan BIN=build-asan/bench EMU_OPTIMISE= READ_OPTIMISE= COLD_OPTIMISE=-O0 UNIT_LIBRARY=build-asan/libbench.so UNIT_CFLAGS=-O0 \
            CFLAGS="-O1 -g1 -fPIC -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
sanitize: SANITIZED := --light unit cli faults
sanitize-unit: SANITIZED := unit
sanitize-all: SANITIZED := unit cli faults
sanitize-build:
	@$(MAKE) --no-print-directory $(SANITIZE) all units
sanitize sanitize-unit sanitize-all:
	@$(MAKE) --no-print-directory $(SANITIZE) all units $(if $(filter cli,$(SANITIZED)),build-asan/coverage build-asan/fuzz/fuzz_ptx)
	@SLOWER=5 BENCH=$(abspath build-asan/bench) BUILD=$(abspath build-asan) sh tests/run $(SANITIZED)
fuzz:
	@$(MAKE) --no-print-directory $(SANITIZE) fuzzers
	@BUILD=$(abspath build-asan) sh tests/fuzz/run $(FUZZ_SECONDS)
fuzzers: $(FUZZERS)

$(BUILD)/speed: tests/emu/speed.c $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -c -o $@.o $<
	@$(LINK) $(CFLAGS) -o $@ $@.o $(LIBRARY) $(LIBS)
$(BUILD)/programs: tests/heads/programs.c $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -c -o $@.o $<
	@$(LINK) $(CFLAGS) -o $@ $@.o $(LIBRARY) $(LIBS)
COVERAGE := tests/emu/coverage.c tests/emu/coverage_plain.c tests/emu/coverage_warps.c tests/emu/coverage_real.c
$(BUILD)/coverage: $(COVERAGE) tests/emu/coverage.h $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -Itests -o $@.o -r $(COVERAGE)
	@$(LINK) $(CFLAGS) -o $@ $@.o $(LIBRARY) $(LIBS)
coverage-emu: all $(BUILD)/coverage
	@BENCH_HOME=$(CURDIR) $(BUILD)/coverage sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_120
coverage-intervals: $(BUILD)/tests/test_coverage
	@$< 2000
bench-cost: all
	@sh ci/bench-cost $(abspath $(BIN))
# MUTATE='--module timing --random 50'
mutate: $(OBJECTS)
	@MUTATE_CC="$(CC) $(ALL_CFLAGS)" MUTATE_LINK="$(LINK) $(CFLAGS)" MUTATE_LIBS="-lcmocka $(LIBS)" MUTATE_OBJECTS="$(abspath $(OBJECTS))" BUILD=$(abspath $(BUILD)) sh ci/mutate $(MUTATE)
bench-emu: all $(BUILD)/speed
	@BENCH_HOME=$(CURDIR) $(BUILD)/speed tests/emu/speed.yaml
	@sh ci/bench-emu $(abspath $(BIN))

install: all
	@BENCH=$(abspath $(BIN)) sh ci/install "$(DESTDIR)$(PREFIX)"
carry: all
	@BENCH=$(abspath $(BIN)) sh ci/carry
dist: all
	@BENCH=$(abspath $(BIN)) sh ci/dist
clean:
	rm -rf $(BUILD) build-asan bench $(ROWS)
.PHONY: all early units test test-all long unit unit-all cli faults check sanitize sanitize-build sanitize-unit sanitize-all fuzz fuzzers bench-cost bench-emu coverage-emu coverage-intervals mutate install carry dist clean
.DELETE_ON_ERROR:
-include $(OBJECTS:.o=.d) $(MAIN:.o=.d) $(UNIT:=.d) $(FUZZERS:=.d) $(BUILD)/fuzz/driver.d
