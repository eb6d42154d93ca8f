# The front door. Every target installs what it needs (tools/install-deps) and says what it does.

CONFIG ?= penstock.yaml
ENGINE ?=
NAME ?=

.PHONY: help demo run build check check-real bench fuzz format lint clean

help:
	@echo 'make demo              engines, gateway and load on loopback: FIFO beside priorities'
	@echo 'make demo ENGINE=llama the same, smaller, in front of a real llama.cpp server'
	@echo 'make run CONFIG=FILE   the gateway'
	@echo 'make build             build/release/bin/penstock'
	@echo 'make check             format, lint, unit tests, sanitizers, end-to-end tests'
	@echo 'make check-real        what takes longer: a real control plane with KEDA, sanitizers end to end, fuzzing, recordings'
	@echo 'make bench [NAME=...]  all figures, or one, into build/bench.json'
	@echo 'make fuzz              every fuzz target for a minute'
	@echo 'make format | lint     clang-format, clang-tidy on every file'
	@echo 'make clean             removes build/'

demo:
	@tools/install-deps demo $(if $(filter llama,$(ENGINE)),llama)
	@tools/build release penstock
	@ENGINE='$(ENGINE)' tools/demo
	@tools/demo-capacity

run: build
	build/release/bin/penstock run $(CONFIG)

build:
	@tools/install-deps build
	@tools/build release penstock

check:
	@tools/install-deps check
	@tools/check

check-real:
	@tools/install-deps real
	@tools/check-real

bench:
	@tools/install-deps bench
	@tools/build release penstock
	@bench/run $(NAME)

bench-%:
	@tools/install-deps bench
	@tools/build release penstock
	@bench/run $*

fuzz:
	@tools/install-deps fuzz
	@tools/fuzz 60

format:
	@tools/install-deps check
	@git ls-files '*.c' '*.h' | xargs clang-format-14 -i

lint:
	@tools/install-deps check
	@tools/lint --all

clean:
	rm -rf build
