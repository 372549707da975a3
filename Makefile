# SPDX-License-Identifier: GPL-3.0-or-later
# A thin front of Meson. `make` builds into build/, the program is build/fairlead.
#
#   make            build                    make bench      CPU per query against the bare echo and peers
#   make run        up with examples         make bench-cpu  own work per query, in process
#   make serve      serve an example
#   make test       everything               make fmt        lay the code out (clang-format)
#   make check      the two-minute loop      make install    program, man pages, link `coredns`
#   make fuzz       fuzz the parsers (clang)

BUILD  ?= build
PREFIX ?= /usr/local
PORT   ?= 1053
TESTS  ?= $(BUILD)

# Each fuzz target runs so many seconds, or inputs when FUZZ_RUNS is not 0; FUZZ_TARGETS: folders of corpus/.
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= 0
FUZZ_JOBS    ?= $(shell nproc)
FUZZ_TARGETS ?=

all: $(BUILD)/build.ninja
	@meson compile -C $(BUILD)

# Without the tests, which are most of the work.
program: $(BUILD)/build.ninja
	@meson compile -C $(BUILD) fairlead

$(BUILD)/build.ninja:
	@tools/deps build
	@meson setup $(BUILD) --prefix=$(PREFIX) $(MESON_ARGS)

deps:
	@tools/deps build test

run: program
	@$(BUILD)/fairlead up --dns 127.0.0.1:$(PORT) --load examples/objects

serve: program
	@echo "serving examples/Corefile on 127.0.0.1:$(PORT); try: dig @127.0.0.1 -p $(PORT) ip-10-1-2-3.example.org"
	@$(BUILD)/fairlead dns -conf examples/Corefile -dns.port $(PORT)

# Unit tests, fuzz corpora and house rules; then the suites that start the program. TESTS: arguments of tools/run-tests,
# for a part of them.
test: deps all
	@tools/run-tests $(TESTS)

check: all
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --no-suite bench
	@tools/house --total

# The peers come from packages and, for CoreDNS, from tests/peers; a peer that cannot be had is named in the report.
bench: all
	@tools/deps bench
	@tests/peers/build coredns || true
	@tests/bench/run

bench-cpu: deps all
	@tests/bench/cpu

fuzz:
	@tools/deps build fuzz
	@tools/fuzz --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) --jobs $(FUZZ_JOBS) $(FUZZ_TARGETS)

fmt:
	@git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'tools/*.[ch]' | xargs clang-format -i

# A PREFIX given here holds also for a folder that was set up with another one.
install: program
ifneq ($(origin PREFIX),file)
	@meson setup --reconfigure $(BUILD) --prefix=$(PREFIX) >/dev/null
endif
	@meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf $(BUILD)

.PHONY: all program deps run serve test check bench bench-cpu fuzz fmt install clean
