# SPDX-License-Identifier: Apache-2.0
# Each target does all set-up that it needs, from a fresh Debian or Ubuntu on.
.DEFAULT_GOAL := help
.PHONY: help setup test demo lint asan tsan coverage clean

# One job a core, and 1.5 GB of memory for each.
JOBS ?= $(shell tools/jobs)

# Threads that wait for each other sleep instead of spinning: on cores that are
# shared with other work, spinning costs a factor of ten.
export OMP_WAIT_POLICY ?= passive

help: ## This list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 16

setup: ## Install the packages that are missing (REKINDLE_SETUP=off: none)
	@tools/setup

test: setup ## Build everything, check the layers, run all tests
	cmake --preset host
	cmake --build --preset host --parallel $(JOBS)
	tools/check_layers
	ctest --preset host --parallel $(JOBS)

demo: setup ## Train a small GPT under a budget, and compare
	cmake --preset host
	cmake --build --preset host --parallel $(JOBS) --target train_gpt
	build/host/examples/train_gpt --demo

lint: ## Check the format, the layers and the scripts
	tools/lint

asan: ## Build and test with the address and undefined-behaviour sanitizers
tsan: ## Build and test with the thread sanitizer
asan tsan: setup
	cmake --preset $@
	cmake --build --preset $@ --parallel $(JOBS)
	ctest --preset $@ --parallel $(JOBS)

coverage: setup ## Report how many lines the tests run
	cmake --preset coverage
	cmake --build --preset coverage --parallel $(JOBS)
	find build/coverage -name '*.gcda' -delete
	ctest --preset coverage --parallel $(JOBS)
	tools/coverage build/coverage

clean: ## Remove what was built
	rm -rf build
