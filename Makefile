# Everything from nothing but python3 (3.11 or later) and pip. Another interpreter: make test PYTHON=python3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo lab lessons test deep bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    run a scenario imported from a real template: a report and a picture"
	@echo "make lab     the lessons in JupyterLab, to read and to change"
	@echo "make lessons run all cells of all lessons, and write them with their pictures as HTML into pages/"
	@echo "make test    style, types and the whole suite (quick profile)"
	@echo "make deep    the suite with many more random examples"
	@echo "make bench   speed and memory"
	@echo "make clean   remove the virtual environment, pages/ and what the tools leave behind"

demo: $(VENV)/demo.stamp
	$(BIN)/python -m models.demo

lab: $(VENV)/notebooks.stamp
	$(BIN)/python -m jupyterlab --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate notebooks

lessons: $(VENV)/notebooks.stamp
	$(BIN)/python tests/lessons.py --to pages

test: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --benchmark-disable

deep: $(VENV)/test.stamp
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n 2 --benchmark-disable

bench: $(VENV)/test.stamp
	$(BIN)/python -m pytest --benchmark-only tests/benchmarks

clean:
	rm -rf $(VENV) pages build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage

# Stamps: a second call installs nothing unless pyproject.toml has changed. The installation of the tests holds that of the notebooks,
# and that of the notebooks the demo's.
$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV), with the tools of the tests"
	@$(PIP) install -e '.[test]'
	@touch $@ $(VENV)/notebooks.stamp $(VENV)/demo.stamp

$(VENV)/notebooks.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV), with JupyterLab"
	@$(PIP) install -e '.[notebooks]'
	@touch $@ $(VENV)/demo.stamp

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV)"
	@$(PIP) install -e '.[iac]'
	@touch $@

# Some systems ship python3 without ensurepip; then the system's pip puts one into the environment.
$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "$(PYTHON) was not found: install Python 3.11 or later, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1): ddbsim needs Python 3.11 or later; name one: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip; } || { \
	  rm -rf $(VENV); echo "no virtual environment could be made with $(PYTHON): it needs venv and pip" >&2; exit 1; }
