# Two commands for a fresh clone:
#   make demo   set up a virtual environment, take a platform through everything, write demo/index.html
#   make test   set up a virtual environment, run all tests
# Both need Python 3.10 or later, make and a package index; nothing outside the clone changes but what pip keeps of downloads.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_EXTRAS := fmu,view
TEST_EXTRAS := test,bench
PYTEST_OPTIONS ?=
K ?=
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=

# The environment must see its own packages only, whatever is sourced or set outside.
unexport PYTHONPATH PYTHONHOME PYTHONUSERBASE PIP_TARGET PIP_PREFIX PIP_USER VIRTUAL_ENV _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Without bytecode every program that a test starts would compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifdef AMENT_PREFIX_PATH
unexport LD_LIBRARY_PATH AMENT_PREFIX_PATH
endif
# What programs keep for the next time stays in the clone: compiled code, caches of zig, fonts, browsers, logs.
INSIDE := env -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME HOME='$(CURDIR)/build/home' \
    ZIG_GLOBAL_CACHE_DIR='$(CURDIR)/build/zig' OPENBLAS_NUM_THREADS=1
RUN := mkdir -p build/home && $(INSIDE) $(BIN)/python
# One worker more than two processors: some tests wait for nodes and browsers.
THREE := -n 3 --dist worksteal
# What `make quick` runs: the engine, descriptions and the house's rules.
ENGINE := $(addprefix tests/,base control describe equations joints linear manifold)
ENGINE += $(filter-out %_package.py %_alone.py %_again.py,$(wildcard tests/house/test_*.py))

# Old releases: of all that is declared but the engines of 'bench', and of CasADi alone.
OLD := build/oldest
CASADI := $(shell sed -n 's/.*"casadi>=\(.*\)",/\1/p' pyproject.toml)
OF_CASADI := $(addprefix tests/,compile equations/test_properties.py batch/test_batch_lanes.py fmu/test_fmu_agreement.py)

.PHONY: help demo test again quick study lint docs api rooms docs-tables bench memcheck fuzz oldest casadi constraints dist clean
help:
	@echo "make demo    simulate, linearize and export a platform, run it as FMU and ROS node; see demo/index.html"
	@echo "make quick   run the tests of the engine and its rules, without compiler, ROS and browser; K=charts picks by word"
	@echo "make test    run all tests"
	@echo "make again   run the tests that failed once more, alone, and say which were unsteady"
	@echo "make study   run what takes too long for every day, and print its tables"
	@echo "make bench   measure speed beside other engines; fails if a target is missed"
	@echo "make memcheck  run a native FMU under AddressSanitizer and valgrind"
	@echo "make fuzz    try every reader and C entry point with inputs that reach new code, FUZZ_SECONDS each"
	@echo "make lint    check style and types only"
	@echo "make docs    build the manual as a site; see build/docs/html/index.html"
	@echo "make api     write docs/api.md from the docstrings of the public names"
	@echo "make rooms   count the lines of every room for docs/architecture.md"
	@echo "make docs-tables  write the tables of docs/describing.md from the definitions of the fields"
	@echo "make oldest  run the tests with the oldest releases that pyproject.toml allows, in environments of their own"
	@echo "make casadi  run a part of the tests with the oldest and the newest CasADi"
	@echo "make constraints  write what is installed here, and was tested, to constraints.txt"
	@echo "make dist    build sdist and wheel, check them, and run the demo from the wheel in a clean environment"
	@echo "make clean   remove the virtual environment and everything that was built"

demo: $(VENV)/demo.stamp
	@$(RUN) -m cutjoint.examples.demo demo

test: $(VENV)/test.stamp
	@echo "== running the tests (10 minutes on two processors; 'make test PYTEST_OPTIONS=-x' stops at the first failure)"
	@$(RUN) -m pytest $(THREE) -q --remember-failures $(PYTEST_OPTIONS)

again: $(VENV)/test.stamp
	@$(RUN) .ci/again.py

quick: $(VENV)/test.stamp
	@export CUTJOINT_COMPILE=0; $(RUN) -m pytest -n auto --dist worksteal -q \
	    -m 'not (study or further or cross or compiler or ros or browser)' $(if $(K),-k '$(K)') $(PYTEST_OPTIONS) $(ENGINE)

study: $(VENV)/test.stamp
	@$(RUN) -m pytest -q -s -m study $(PYTEST_OPTIONS)

lint: $(VENV)/test.stamp
	@$(RUN) -m pytest -q tests/house/test_style.py

docs: $(VENV)/test.stamp
	@$(RUN) docs/site/build.py build/docs
	@echo "build/docs/html/index.html"

api: $(VENV)/test.stamp
	@$(RUN) docs/site/api.py docs/api.md

rooms: $(VENV)/test.stamp
	@$(RUN) docs/site/rooms.py docs/architecture.md

docs-tables: $(VENV)/test.stamp
	@$(RUN) -m cutjoint.model.describe.manual docs/describing.md

bench: $(VENV)/test.stamp
	@$(RUN) -m cutjoint bench --require

memcheck: $(VENV)/test.stamp
	@$(RUN) tests/support/fmu_memcheck.py

fuzz: $(VENV)/test.stamp
	@$(BIN)/python -m pip install -qq --no-deps --target build/atheris --upgrade atheris || \
	    echo "   no atheris for this Python: only C is tried"
	@export PYTHONPATH=$(CURDIR)/build/atheris CUTJOINT_COMPILE=0; \
	    $(RUN) tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) --work build/fuzz $(FUZZ_TARGETS)

oldest:
	@echo "== installing the oldest releases that pyproject.toml allows into $(OLD)/ (some minutes)"
	@$(PYTHON) -m venv --clear $(OLD) && $(OLD)/bin/python -m pip install -qq uv
	@$(OLD)/bin/uv pip install -q --python $(OLD)/bin/python --resolution lowest-direct -e '.[test]'
	@mkdir -p build/home && $(INSIDE) $(OLD)/bin/python -m pytest -q --ignore=tests/house $(PYTEST_OPTIONS)

casadi: $(VENV)/test.stamp
	@for release in casadi==$(CASADI) casadi; do \
	    echo "== $$release" && rm -rf build/casadi && \
	    $(BIN)/python -m pip install -qq --no-deps --target build/casadi $$release && \
	    (export PYTHONPATH=$(CURDIR)/build/casadi; $(RUN) -m pytest $(THREE) -q $(PYTEST_OPTIONS) $(OF_CASADI)) || exit 1; \
	done

constraints: $(VENV)/test.stamp
	@$(RUN) .ci/constraints.py > build/constraints.txt && mv build/constraints.txt constraints.txt

dist:
	@rm -rf dist build/lib && $(PYTHON) -m venv --clear build/maker && build/maker/bin/python -m pip install -qq build twine
	@build/maker/bin/python -m build -o dist . >build/dist.log || { cat build/dist.log; exit 1; }
	@build/maker/bin/python -m twine check --strict dist/*
	@$(PYTHON) -m venv --clear build/clean && build/clean/bin/python -m pip install -qq dist/*.whl
	@mkdir -p build/home && cd build && $(INSIDE) clean/bin/python -m cutjoint.examples.demo clean/demo
	@echo "== these are whole, and the demo runs from the wheel:" && ls -l dist

clean:
	rm -rf $(VENV) build dist demo *.egg-info .pytest_cache .mypy_cache .ruff_cache

# Installing is repeated only when pyproject.toml changes; sources are used in place.
$(VENV)/python.stamp:
	@echo "== creating a virtual environment in $(VENV)/ with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "cutjoint needs Python 3.10 or later: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@# the pip that Python 3.10 brings tries versions for ten minutes where later ones need none
	@$(BIN)/python -m pip install -qq --upgrade pip || echo "   pip stays as it is: installing may take long"
	@touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/python.stamp
	@echo "== installing cutjoint and what the demo needs into $(VENV)/ (a minute or two)"
	@$(BIN)/python -m pip install -qq -e '.[$(DEMO_EXTRAS)]'
	@$(BIN)/python -m pip install -qq -e '.[ros]' || echo "   no ROS wheels for this Python: the demo leaves the node out"
	@$(BIN)/python -m pip install -qq -e '.[cross]' || echo "   no compiler for web pages here: the demo shows a recorded motion"
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/python.stamp
	@echo "== installing cutjoint, its test tools and the engines it is compared with into $(VENV)/ (some minutes)"
	@$(BIN)/python -m pip install -qq -e '.[$(TEST_EXTRAS)]'
	@touch $@ $(VENV)/demo.stamp
