# SPDX-License-Identifier: MIT
#
#   make demo       installs what is missing, builds, identifies a bouncing ball, and shows it in a report
#   make test       builds and passes every check and test
#   make test-oracles   installs DART and Siconos (750 MB with all they need), compares with them and MuJoCo
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
WERROR ?= OFF
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CTEST_ARGS ?=
FUZZ_SECONDS ?= 3600
RELEASE := build/release
ASAN := build/asan
MINIMAL := build/minimal
export DESTDIR

CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

ORACLES := $(addprefix oracle_,$(addsuffix _test,mujoco mujoco_contact mujoco_friction mujoco_soft dart dart_contact dart_throw siconos))

# quiet LOG COMMAND: shows the log only when the command fails
quiet = mkdir -p build; $(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
# configure FOLDER ARGUMENTS: build/FOLDER by cmake ARGUMENTS
configure = tools/configure --room; $(call quiet,configure,tools/configure build/$(1) $(2))

.PHONY: demo test build command install bench gallery check fuzz mutate format clean
.PHONY: deps-bench deps-gallery deps-test deps-oracles test-oracles test-release test-asan test-minimal run-tests tidy

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

# each line says what only it can catch
test: deps-test
	@$(MAKE) check            # structure and style, before anything is built
	@$(MAKE) test-release     # gcc: wrong code that is optimised, installation, exported symbols
	@tools/check_red          # a failing test that leaves CI green
	@$(MAKE) test-asan        # clang: memory, undefined behaviour, broken invariants
	@$(MAKE) test-minimal     # what creeps into the build with the fewest dependencies
	@$(MAKE) tidy             # what compilers don't warn of
	@tools/mutate --build $(RELEASE) --sample 16 --seed 1 --least 90 # derivatives without a test
	@tools/fuzz 36 csv mjcf obj stl urdf xml # input that breaks a reader
	@echo "make test: everything passed"

test-release:
	@$(call configure,release,--preset release -DCAROM_TESTS=ON -DCAROM_ORACLES=OFF -DCAROM_WERROR=$(WERROR))
	@$(call quiet,build,cmake --build $(RELEASE) -j $(JOBS))
	@$(MAKE) run-tests

# the tests that are built; CTEST_ARGS chooses some
run-tests:
	@$(CTEST) --test-dir $(RELEASE) $(CTEST_ARGS)

test-asan:
	@$(call configure,asan,--preset asan -DCMAKE_C_COMPILER=clang -DCAROM_WERROR=$(WERROR))
	@$(call quiet,build,cmake --build $(ASAN) -j $(JOBS))
	@$(CTEST) --test-dir $(ASAN) -LE 'slow|oracle' $(CTEST_ARGS)

test-minimal:
	@$(call configure,minimal,-S . -B $(MINIMAL) -DCMAKE_BUILD_TYPE=Debug -DCAROM_MINIMAL=ON -DCAROM_WERROR=$(WERROR))
	@$(call quiet,build,cmake --build $(MINIMAL) --target carom_cli carom_shared -j $(JOBS))
	@tools/check_minimal $(MINIMAL)/carom $(MINIMAL)/libcarom.so

# prints the largest differences; where the robots of ../shared are missing, it says so
test-oracles: deps-oracles
	@$(call configure,release,--preset release -DCAROM_TESTS=ON -DCAROM_ORACLES=ON -DCAROM_WERROR=$(WERROR))
	@$(call quiet,build,cmake --build $(RELEASE) --target $(ORACLES) -j $(JOBS))
	@ctest --test-dir $(RELEASE) --no-tests=error --verbose -L oracle | sed -n 's/^[0-9]*: //p'

tidy:
	@tools/check_tidy $(ASAN)

# all of them, then red if one was
check:
	@red=0; for tool in sources layers pairs budgets hygiene docs format; do tools/check_$$tool || red=1; done; \
	tools/selftest || red=1; tools/selftest_demo || red=1; exit $$red

fuzz: deps-test
	@tools/fuzz $(FUZZ_SECONDS)

mutate:
	@tools/mutate --build $(RELEASE)

format:
	@tools/check_format --fix

clean:
	@rm -rf build
