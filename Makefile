# Two commands for a fresh clone:
#   make demo   set up a virtual environment, take a platform through everything, write demo/index.html
#   make test   set up a virtual environment, run all tests
# Both need Python 3.10 or later, make and a package index; nothing outside the clone changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_EXTRAS := fmu,view
TEST_EXTRAS := test,bench
PYTEST_OPTIONS ?=

# The environment must see its own packages only, whatever is sourced or set outside.
unexport PYTHONPATH PYTHONHOME PYTHONUSERBASE PIP_TARGET PIP_PREFIX PIP_USER VIRTUAL_ENV _ROS_WHEELS_BOOTSTRAP_COMPLETE
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifdef AMENT_PREFIX_PATH
unexport LD_LIBRARY_PATH AMENT_PREFIX_PATH
endif

.PHONY: help demo test study lint docs docs-tables bench memcheck clean
help:
	@echo "make demo    simulate, linearize and export a platform, run it as FMU and ROS node; see demo/index.html"
	@echo "make test    run all tests"
	@echo "make study   run what takes too long for every day, and print its tables"
	@echo "make bench   measure speed beside other engines; fails if a target is missed"
	@echo "make memcheck  run a native FMU under AddressSanitizer and valgrind"
	@echo "make lint    check style and types only"
	@echo "make docs    build the manual as a site; see build/docs/html/index.html"
	@echo "make docs-tables  write the tables of docs/describing.md from the definitions of the fields"
	@echo "make clean   remove the virtual environment and everything that was built"

demo: $(VENV)/demo.stamp
	@$(BIN)/python -m cutjoint.examples.demo demo

test: $(VENV)/test.stamp
	@echo "== running the tests (a few minutes; 'make test PYTEST_OPTIONS=-x' stops at the first failure)"
	@$(BIN)/python -m pytest -n 2 -q $(PYTEST_OPTIONS)

study: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -q -s -m slow $(PYTEST_OPTIONS)

lint: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -q tests/test_style.py

docs: $(VENV)/test.stamp
	@$(BIN)/python docs/site/build.py build/docs
	@echo "build/docs/html/index.html"

docs-tables: $(VENV)/test.stamp
	@$(BIN)/python -m cutjoint.model.describe.manual docs/describing.md

bench: $(VENV)/test.stamp
	@$(BIN)/cutjoint bench --require

memcheck: $(VENV)/test.stamp
	@$(BIN)/python tests/fmu_memcheck.py

clean:
	rm -rf $(VENV) build demo *.egg-info .pytest_cache .mypy_cache .ruff_cache

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
