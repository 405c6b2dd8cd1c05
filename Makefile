# Two commands for a fresh clone:
#   make demo   set up a virtual environment, simulate a platform, write pictures to demo/
#   make test   set up a virtual environment, run all tests
# Both need Python 3.10 or later, make and a package index; nothing outside the clone changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEST_EXTRAS := test,bench
PYTEST_OPTIONS ?=

# The environment must see its own packages only, whatever is sourced or set outside.
unexport PYTHONPATH PYTHONHOME PYTHONUSERBASE PIP_TARGET PIP_PREFIX PIP_USER VIRTUAL_ENV _ROS_WHEELS_BOOTSTRAP_COMPLETE
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifdef AMENT_PREFIX_PATH
unexport LD_LIBRARY_PATH AMENT_PREFIX_PATH
endif

.PHONY: help demo test lint clean
help:
	@echo "make demo    simulate the stewart platform and write pictures to demo/"
	@echo "make test    run all tests"
	@echo "make lint    check style and types only"
	@echo "make clean   remove the virtual environment and everything that was built"

demo: $(VENV)/demo.stamp
	@mkdir -p demo
	@echo "== the platform: bodies, joints, loops, and a picture"
	$(BIN)/cutjoint show stewart --picture demo/stewart.png
	@echo
	@echo "== two seconds with 10 N·m on each motor, from rest"
	$(BIN)/cutjoint simulate stewart --time 2 --step 1e-3 --torque all=10 \
	    --csv demo/motion.csv --plot demo/motion.png
	@echo
	@echo "== done: see demo/stewart.png (the mechanism), demo/motion.png and demo/motion.csv (its motion)"

test: $(VENV)/test.stamp
	@echo "== running the tests (a few minutes; 'make test PYTEST_OPTIONS=-x' stops at the first failure)"
	@$(BIN)/python -m pytest -n 2 -q $(PYTEST_OPTIONS)

lint: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -q tests/test_style.py

clean:
	rm -rf $(VENV) build demo *.egg-info .pytest_cache .mypy_cache .ruff_cache

# Installing is repeated only when pyproject.toml changes; sources are used in place.
$(VENV)/python.stamp:
	@echo "== creating a virtual environment in $(VENV)/ with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "cutjoint needs Python 3.10 or later: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/python.stamp
	@echo "== installing cutjoint and what it needs into $(VENV)/"
	@$(BIN)/python -m pip install -qq -e .
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/python.stamp
	@echo "== installing cutjoint, its test tools and the engines it is compared with into $(VENV)/"
	@$(BIN)/python -m pip install -qq -e '.[$(TEST_EXTRAS)]'
	@touch $@ $(VENV)/demo.stamp
