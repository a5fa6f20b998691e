# SPDX-License-Identifier: MIT
#
#   make demo       installs what is missing, builds, identifies a bouncing ball, and shows it in a report
#   make test       builds, and passes the checks and tests that a commit needs
#   make test-all   the same, then make test-rest: slow tests, other programs, sanitizers, mutants, fuzzing
#   make one T=base_nn_mlp_test   builds and runs one test; make long T=... has all its cases
#   make build      the library and the command, optimised, in build/release
#   make install    PREFIX=/usr/local, DESTDIR honoured
#   make bench      speed, as ratios in one run
#   make gallery    makes the reports that the documentation shows, and their pictures, again
#   make check      the scripts that read the source: layers, pairs, budgets, hygiene, docs, format
#   make fuzz       breaks readers on purpose for FUZZ_SECONDS=3600
#   make mutate     flips every sign in every derivative and counts what the tests miss (minutes)
#   make format     clang-format on every C file
#   make clean      removes build/

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build

PREFIX ?= /usr/local
WERROR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CTEST_ARGS ?=
FUZZ_SECONDS ?= 3600
RELEASE := build/release
ASAN := build/asan
MINIMAL := build/minimal
export DESTDIR

# quiet LOG COMMAND: shows the log only when the command fails
quiet = mkdir -p build; $(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
# configure FOLDER ARGUMENTS: build/FOLDER by cmake ARGUMENTS
configure = tools/configure --room; $(call quiet,configure,tools/configure build/$(1) $(2))

.PHONY: demo build command install bench gallery clean deps-bench deps-gallery deps-test deps-oracles

demo:
	@tools/demo $(RELEASE)

# what the build goes without is said
build: command
	@$(call quiet,build,cmake --build $(RELEASE) --target carom_shared carom_archive -j $(JOBS))
	@sed -n 's/^-- \(.* not found, .*\)/\1/p' build/configure.log
	@! grep -h '^reports will have no charts' build/command.log || true

command:
	@$(call configure,release,--preset release)
	@$(call quiet,command,cmake --build $(RELEASE) --target carom_cli -j $(JOBS))

install:
	@tools/install_built check '$(PREFIX)'
	@$(MAKE) build
	@tools/install_built $(RELEASE) '$(PREFIX)'

bench: deps-bench build
	@$(RELEASE)/carom bench

gallery: deps-gallery build
	@tools/gallery $(RELEASE)/carom

deps-bench:
	@tools/install_deps bench

deps-gallery:
	@tools/install_deps gallery

deps-test:
	@tools/install_deps test

deps-oracles:
	@tools/install_deps oracles

# ---- tests ---------------------------------------------------------------------------------------

T ?=
ORACLES ?= OFF
# The commit draws those cases and mutants that run, where all would take too long.
SEED ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo 1)
export CAROM_TEST_SEED = $(SEED)
# A build that is there keeps its choice: another one would compile everything again.
STRICT := $(if $(WERROR),-DCAROM_WERROR=$(WERROR))
RUN_TESTS := tools/run_tests -j $(JOBS)

.PHONY: test test-all test-rest test-release test-slow test-oracles test-asan test-minimal
.PHONY: run-tests one long configure-tests configure-asan tidy check fuzz mutate format

# make test is for every commit, make test-rest has the slow rest, and CI runs both. Each line says
# what only it can catch.
test: deps-test
	@$(MAKE) check            # structure and style, before anything is built
	@$(MAKE) test-release     # gcc: wrong code that is optimised, installation, exported symbols
	@tools/check_red          # a failing test that leaves CI green
	@$(MAKE) test-minimal     # what creeps into the build with the fewest dependencies
	@$(MAKE) tidy             # what compilers don't warn of
	@echo "make test: everything passed"

test-all:
	@$(MAKE) test
	@$(MAKE) test-rest

test-rest: deps-oracles
	@$(MAKE) test-slow        # gcc: long motions, trainings, studies, reports in a browser
	@$(MAKE) test-oracles     # a formula that all tests share with the code
	@$(MAKE) test-asan        # clang: memory, undefined behaviour, broken invariants
	@tools/mutate --build $(RELEASE) --sample 32 --seed $(SEED) --least 85 # derivatives without a test
	@tools/fuzz 60 csv mjcf obj stl urdf xml # input that breaks a reader
	@tools/run_tests --total quick slow oracles asan
	@echo "make test-rest: everything passed"

test-release:
	@$(MAKE) configure-tests
	@$(call quiet,build,cmake --build $(RELEASE) -j $(JOBS))
	@$(RUN_TESTS) quick $(RELEASE) -LE '^(slow|oracle)$$' $(CTEST_ARGS)

test-slow:
	@$(MAKE) configure-tests
	@$(call quiet,build,cmake --build $(RELEASE) --target all slow_tests -j $(JOBS))
	@$(RUN_TESTS) slow $(RELEASE) -L '^slow$$' $(CTEST_ARGS)

# prints the largest differences; where the robots of ../shared are missing, it says so
test-oracles: deps-oracles
	@$(MAKE) configure-tests ORACLES=ON
	@$(call quiet,build,cmake --build $(RELEASE) --target oracle_tests -j $(JOBS))
	@$(RUN_TESTS) oracles $(RELEASE) -j 1 --verbose -L '^oracle$$' | sed -n 's/^[0-9]*: //p; /checks in/p'

test-asan:
	@$(MAKE) configure-asan
	@$(call quiet,build,cmake --build $(ASAN) -j $(JOBS))
	@$(RUN_TESTS) asan $(ASAN) -LE '^(slow|oracle)$$' $(CTEST_ARGS)

test-minimal:
	@$(call configure,minimal,-S . -B $(MINIMAL) -DCMAKE_BUILD_TYPE=Debug -DCAROM_MINIMAL=ON $(STRICT))
	@$(call quiet,build,cmake --build $(MINIMAL) --target carom_cli carom_shared -j $(JOBS))
	@tools/check_minimal $(MINIMAL)/carom $(MINIMAL)/libcarom.so

# the tests that are built; CTEST_ARGS chooses some
run-tests:
	@$(RUN_TESTS) chosen $(RELEASE) $(CTEST_ARGS)

# T is the name of a test, as ctest -N lists them
one: deps-test
	@$(MAKE) configure-tests
	@tools/one_test $(RELEASE) $(JOBS) '$(T)'

# all cases of a test that draws some by the commit (test/support/cr_test.h)
long: export CAROM_TEST_LONG := 1
long: one

configure-tests:
	@$(call configure,release,--preset release -DCAROM_TESTS=ON -DCAROM_ORACLES=$(ORACLES) $(STRICT))

configure-asan:
	@$(call configure,asan,--preset asan -DCMAKE_C_COMPILER=clang $(STRICT))

# it reads the commands of a clang build, which it does not need to be built
tidy: configure-asan
	@tools/check_tidy $(ASAN)

# all of them, then red if one was
check:
	@red=0; for tool in sources layers pairs budgets hygiene docs format; do tools/check_$$tool || red=1; done; \
	tools/selftest || red=1; tools/selftest_demo || red=1; exit $$red

fuzz: deps-test
	@tools/fuzz $(FUZZ_SECONDS)

mutate: configure-tests
	@$(call quiet,build,cmake --build $(RELEASE) --target all slow_tests -j $(JOBS))
	@tools/mutate --build $(RELEASE)

format:
	@tools/check_format --fix

clean:
	@rm -rf build
