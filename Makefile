# Everything happens in .venv, made here. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find native -name '*.?pp') CMakeLists.txt
PACKAGES := $(shell find src -name __init__.py)
# Where pip compiles the extension, named after this Python and machine.
EXTENSION = build/$(shell $(BIN)/python -c 'from scikit_build_core.builder.wheel_tag import WheelTag as T; print(T.compute_best([]))')
# What runs the tests of the core: `make sanitize RUN='gdb --args'` debugs them, RUN=true only compiles them.
RUN ?=
MPICH := build/mpi/mpich
# How many groups of tests run at a time. More than the processors do not pay: ranks that wait spin.
STREAMS ?= 2
# Which of examples/cases `make demo` runs.
DEMO ?= four-regions

.DEFAULT_GOAL := help
.PHONY: help demo test core sanitize lint docs bench digests stubs format clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */\1\t/' | expand -t 10

demo: $(VENV)/built  ## see the product's main job: a study, and a page about it
	$(BIN)/cobre run examples/cases/$(DEMO) --workers 2 --output build/demo
	$(BIN)/cobre report build/demo

# The core's tests are compiled while those of Python run, many of which wait; they run afterwards, and not at
# low priority, since some go by the clock.
test: $(VENV)/built $(MPICH)/installed  ## run all tests: native core, Python, examples, docs
	@nice $(MAKE) --no-print-directory core sanitize RUN=true >/dev/null 2>&1 & compiling=$$!; \
	$(BIN)/python -m pytest -n $(STREAMS) --dist loadscope --no-loadscope-reorder --durations=20; code=$$?; \
	wait $$compiling; exit $$code
	@$(MAKE) --no-print-directory core sanitize

core: $(VENV)/built
	@$(BIN)/cmake --build $(EXTENSION) --target core_tests
	$(RUN) $(EXTENSION)/core_tests

sanitize: $(VENV)/tools  ## run the core's tests under the sanitizers that the compiler has
	@for kind in thread address,undefined; do \
		if ! echo 'int main() {}' | $${CXX:-c++} -fsanitize=$$kind -x c++ - -o /dev/null 2>/dev/null; then \
			echo "the compiler has no $$kind sanitizer: left out"; continue; fi; \
		build=build/core-$${kind%%,*}; \
		$(BIN)/cmake -G Ninja -S . -B $$build -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
			-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCOBRE_BUILD_PYTHON=OFF -DCOBRE_SANITIZE=$$kind >/dev/null && \
		$(BIN)/cmake --build $$build --target core_tests && $(RUN) $$build/core_tests || exit 1; \
	done

lint: $(VENV)/built  ## check style, types and the generated stub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter native/%,$(NATIVE))
	$(BIN)/mypy
	@for module in _native _lp; do \
		$(BIN)/python -m nanobind.stubgen -q -m cobre.$$module -p native/bind/stub.pattern -o build/$$module.pyi && \
		diff -u src/cobre/$$module.pyi build/$$module.pyi || { echo 'the stub is out of date: run make stubs'; exit 1; }; \
	done

docs: $(VENV)/built  ## build the documentation into docs/_build
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo 'open docs/_build/html/index.html'

bench: $(VENV)/built  ## measure, and write benchmarks/results
	$(BIN)/python benchmarks/run.py

digests: $(VENV)/built  ## record the digests of the examples, after a change that means to change bits
	$(BIN)/python -m tests.study.digests --write

stubs: $(VENV)/built  ## generate the stubs of the built modules
	@for module in _native _lp; do \
		$(BIN)/python -m nanobind.stubgen -q -m cobre.$$module -p native/bind/stub.pattern -o src/cobre/$$module.pyi; \
	done

format: $(VENV)/built  ## format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter native/%,$(NATIVE))

clean:  ## remove all that was built
	rm -rf $(VENV) build dist docs/_build

# Build tools and libraries; again only when pyproject.toml changes.
$(VENV)/tools: pyproject.toml tools/preflight.sh
	@tools/preflight.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py | xargs $(BIN)/python -m pip install --quiet --disable-pip-version-check
	@touch $@

# An editable install: Python files are used in place, so only native changes and new packages need one, and
# CMake keeps its build folder, so that compiles only what changed.
$(VENV)/built: $(VENV)/tools $(NATIVE) $(PACKAGES)
	@tools/preflight.sh $(PYTHON)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --editable .
	@touch $@

# A second MPI beside the one in $(VENV), for tests: in a folder of its own, because both bring an mpiexec.
$(MPICH)/installed: $(VENV)/tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --prefix $(MPICH) 'mpich>=5'
	@touch $@
