# nashbed: the menu. `make help` lists the targets; everything made is under build/ and .venv.

SHELL = /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## This menu
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

$(STAMPS):
	mkdir -p $@

# The Python environment: exact versions, and our own packages as links to the folders.
$(STAMPS)/venv: requirements.lock pyproject.toml | $(STAMPS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# mypy and import order need to see the namespace package: links to the folders.
build/pylinks/nashbed:
	mkdir -p $@
	ln -sfn ../../../controlplane $@/controlplane
	ln -sfn ../../../analysis $@/analysis

.PHONY: venv
venv: $(STAMPS)/venv build/pylinks/nashbed ## The Python environment only
