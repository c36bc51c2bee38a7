# nashbed: the menu. `make help` lists the targets. Everything made is under build/ and .venv.

SHELL = /bin/sh
PYTHON ?= python3
SCENARIO ?= configs/scenarios/quickstart.yaml
# Without root there is virtual time.
TESTBED ?= configs/testbeds/$(if $(filter 0,$(shell id -u)),embedded,virtual).yaml
# The source of its kernel: a release, an archive, a tree; none: 6.1, or else the newest there is.
KERNEL ?=
RESULTS ?= results
# What `make bench` writes, what it calls this machine, and which parts it measures (none: all).
BENCH ?= build/bench.json
MACHINE ?=
PARTS ?=
# What `make wheel` writes: nashbed, kernel, or both.
WHICH ?= nashbed kernel

VENV = .venv
BIN = $(VENV)/bin
STAMPS = build/stamps
HOSTS_BUILD = build/hosts
XDP = hosts/dpdk/xdp
FLUID = analysis/models/fluid/core
FLUID_BUILD = build/analysis
COVERAGE = build/coverage
DPDK_INTERNAL = build/dpdk-internal
# The documents with tables of measured speed.
SPEED = docs/reference/speed.md
PACKAGES = configs/debian-packages.txt
BFRT = controlplane/targets/tofino
# An archive or a folder, for native code where apt has no source package of the installed DPDK.
DPDK_SOURCE ?=
# A warning of the C compiler is an error in CI and in `make check` (then as long as build/ lasts), for
# those who change the code: another compiler than theirs may warn of more.
WERROR ?= $(CI)
# Memory of the shipped testbeds (1 GiB in pages of 2 MiB), and a little to spare.
HUGE_PAGES ?= 600

# What needs no quiet machine runs in parallel, one more than there are cores, for tests wait for
# processes; live tests run after it, alone.
PARALLEL = -n $$(($$(nproc) + 1)) --dist worksteal
SLOWEST = --durations=50 --durations-min=5
# Those that `make test` and `make coverage` run; the rest have targets of their own.
USUAL = not long and not pnr and not pci
LIVE = $(addprefix tests/,conformance dataplane e2e flows probe)

# Interpreters start thousands of times in the tests; none is to compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL = help
.DELETE_ON_ERROR:

.PHONY: help
help: ## this menu
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

# Virtual time needs neither root nor huge pages, but a kernel of its own.
IN_VIRTUAL_TIME = $(shell grep -ls '^target: *virtual' $(TESTBED))

.PHONY: run
run: $(if $(IN_VIRTUAL_TIME),say-virtual virtual,setup) ## set up, then run SCENARIO (default: the quickstart)
	$(BIN)/nashbed run $(SCENARIO) --testbed $(TESTBED) --out $(RESULTS)

# Two testbeds, names or files: what `make equivalence` runs its matrix on.
FIRST ?= virtual
SECOND ?= embedded
MARGIN ?= 2%
MATRIX ?= ten-flows fifty-flows

.PHONY: equivalence
equivalence: setup virtual ## the same shares on two testbeds? 2 h (FIRST=, SECOND=, MARGIN=2%, MATRIX=)
	@status=0; \
	for part in $(MATRIX); do \
		set --; \
		for bed in $(FIRST) $(SECOND); do \
			folder=$(RESULTS)/equivalence/$$(basename $$bed .yaml); \
			$(BIN)/nashbed run configs/scenarios/equivalence/$$part.yaml --testbed $$bed --out $$folder || exit; \
			set -- "$$@" "$$(ls -d $$folder/*-equivalence-$$part | tail -n 1)"; \
		done; \
		$(BIN)/nashbed compare "$$@" --equivalence $(MARGIN) || status=$$?; \
	done; exit $$status

.PHONY: say-virtual
say-virtual:
	@[ "$$(id -u)" -eq 0 ] || echo "not root: in virtual time ($(TESTBED))"

.PHONY: test
test: setup virtual ## set up, then every test (root; skips are counted and explained)
	@status=0; \
	$(BIN)/pytest $(PARALLEL) $(SLOWEST) -m "not live and $(USUAL)" || status=$$?; \
	$(BIN)/pytest $(SLOWEST) -m "live and $(USUAL)" $(LIVE) || status=$$?; \
	exit $$status

# Not in `make test`. FUZZ_MINUTES is how long each fuzz draws anew; each has its own time limit.
LONG = $(if $(FUZZ_MINUTES),NASHBED_FUZZ_MINUTES=$(FUZZ_MINUTES)) $(BIN)/pytest $(SLOWEST) --timeout 0

.PHONY: test-long
test-long: setup virtual ## long proofs and fuzzing, an hour on two cores (root; FUZZ_MINUTES=5)
	@status=0; \
	$(LONG) -n $$(nproc) --dist worksteal -m "long and not live" || status=$$?; \
	$(LONG) -m "long and live" tests/e2e || status=$$?; \
	exit $$status

# Not in `make test`: minutes of emulation, beside which nothing else should run.
.PHONY: test-pci
test-pci: setup ## the data plane on emulated PCI NICs, in QEMU (qemu-system-x86, busybox-static)
	$(BIN)/pytest $(SLOWEST) -m pci tests/pci

.PHONY: fresh
fresh: ## prove all this on bare Debian roots, 5 h as root (ROOTS=, STEPS=, KEEP=1, RESUME=1)
	@$(PYTHON) -m tests.fresh $(if $(ROOTS),--roots "$(ROOTS)") $(if $(STEPS),--steps "$(STEPS)") \
		$(if $(KEEP),--keep) $(if $(RESUME),--resume) $(if $(DEBS),--cache "$(DEBS)") \
		$(if $(AT),--folder "$(AT)") $(if $(INTO),--into "$(INTO)") \
		$(if $(DPDK_SOURCE),--dpdk-source "$(DPDK_SOURCE)")

# Programs and libraries are built with gcov's counters; NASHBED_BUILD has tests use that build.
COVERED = NASHBED_BUILD=$(CURDIR)/$(COVERAGE) COVERAGE_FILE=$(CURDIR)/$(COVERAGE)/python/data \
	$(BIN)/pytest -q --cov --cov-report= --cov-append

.PHONY: coverage
coverage: setup virtual coverage-build ## what no test enters, Python and C: build/coverage (root, an hour)
	@rm -rf $(COVERAGE)/python
	@mkdir -p $(COVERAGE)/python
	@find $(COVERAGE) -name '*.gcda' -delete
	-$(COVERED) $(PARALLEL) -m "not live and $(USUAL)"
	-$(COVERED) -m "live and $(USUAL)"
	@$(MAKE) --no-print-directory coverage-report

.PHONY: coverage-build
coverage-build: venv
	@test -f $(COVERAGE)/hosts/build.ninja || \
		meson setup $(COVERAGE)/hosts hosts --buildtype=debugoptimized -Db_coverage=true
	@test -f $(COVERAGE)/analysis/build.ninja || \
		meson setup $(COVERAGE)/analysis $(FLUID) --buildtype=debugoptimized -Db_coverage=true
	@ninja -C $(COVERAGE)/hosts --quiet
	@ninja -C $(COVERAGE)/analysis --quiet

.PHONY: coverage-report
coverage-report:
	$(BIN)/python -m tests.support.coverage $(COVERAGE)

.PHONY: check
check: packages venv ## linters, types, format, quick tests; without root (CHANGED=1: that a change touches)
	@$(MAKE) --no-print-directory build WERROR=1
	@$(MAKE) --no-print-directory -j 2 --output-sync=target check-types check-tests check-style

.PHONY: check-types
check-types:
	$(BIN)/mypy

# CHANGED=1: since the last commit; or since the commit that it names.
SINCE = $(if $(filter 1,$(CHANGED)),HEAD,$(CHANGED))
.PHONY: check-tests
check-tests:
	$(BIN)/pytest -q $(PARALLEL) -m "not live and not root and not slow and $(USUAL)" \
		$(if $(CHANGED),$$($(BIN)/python -m tests.support.changed $(SINCE)))

.PHONY: check-style
check-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory check-format

.PHONY: check-format
check-format:
	@find hosts analysis tests -name '*.[ch]' -print0 | xargs -0 -r $(BIN)/clang-format --dry-run --Werror

.PHONY: bench
bench: venv build ## measured speed and memory, 15 minutes as root (FULL=1: and a panel, 20 more)
	$(BIN)/nashbed bench all --out $(BENCH) $(if $(FULL),--full) --machine "$(MACHINE)" \
		$(addprefix --part ,$(PARTS))

.PHONY: speed
speed: venv ## write the documents' tables of measured speed
	$(BIN)/nashbed bench table $(SPEED)

.PHONY: growth
growth: venv build ## measure how cost grows with lanes, flows and postcards, and draw it
	$(BIN)/nashbed bench growth --plot controlplane/bench/growth.png

.PHONY: doctor
doctor: venv ## what is here, what will be skipped, and how to get it
	$(BIN)/nashbed doctor

.PHONY: setup
setup: hugepages venv-and-build ## Debian packages, huge pages, Python environment, C build

# At the same time: one waits for the network while the other compiles.
.PHONY: venv-and-build
venv-and-build: packages dpdk-internal
	@$(MAKE) --no-print-directory -j 2 --output-sync=target venv build

# Asked each time, for packages come and go without us: 0.1 s. Installs only what is missing, so that
# it also passes offline once all is there; who is not root goes on without optional ones.
.PHONY: packages
packages: ## install the Debian packages that are missing (root)
	@command -v dpkg-query > /dev/null || \
		{ echo "no dpkg here: see for yourself to what $(PACKAGES) lists"; exit 0; }; \
	installed=$$(dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $$(sed 's/#.*//' $(PACKAGES)) \
		2> /dev/null | sed -n 's/^installed //p'); \
	missing_of() { sed -e "$$1" -e 's/#.*//' $(PACKAGES) | tr -d ' ' | grep . | \
		grep -vxF -e "$$installed" | tr '\n' ' '; }; \
	missing=$$(missing_of ''); needed=$$(missing_of '/# optional/d'); \
	if [ -z "$$missing" ]; then \
		:; \
	elif [ "$$(id -u)" -eq 0 ]; then \
		apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	elif [ -n "$$needed" ]; then \
		echo "not root: these packages are missing, \`sudo make packages\` installs them: $$missing"; \
		exit 4; \
	else \
		echo "not installed: $$missing(optional: what needs them is skipped)"; \
	fi

.PHONY: hugepages
hugepages: ## reserve huge pages for the data plane (HUGE_PAGES of them)
	@have=$$(cat /proc/sys/vm/nr_hugepages); \
	if [ "$$have" -lt $(HUGE_PAGES) ]; then \
		[ "$$(id -u)" -eq 0 ] || { echo "not root: huge pages cannot be reserved"; exit 4; }; \
		echo $(HUGE_PAGES) > /proc/sys/vm/nr_hugepages; \
		have=$$(cat /proc/sys/vm/nr_hugepages); \
		[ "$$have" -ge $(HUGE_PAGES) ] || echo "only $$have of $(HUGE_PAGES) huge pages" \
			"could be reserved: memory is too fragmented or too small"; \
	fi

# Exact versions, and our own packages as links to the folders.
.PHONY: venv
venv: $(STAMPS)/venv build/pylinks/nashbed

$(STAMPS)/venv: requirements.lock pyproject.toml
	@mkdir -p $(@D)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# mypy reads the package through links to the folders.
API = $(wildcard controlplane/api/*.py*)
build/pylinks/nashbed: $(API)
	mkdir -p $@
	ln -sfn ../../../controlplane $@/controlplane
	ln -sfn ../../../analysis $@/analysis
	ln -sfn $(API:%=../../../%) $@
	touch $@

# DPDK's own headers for the P4 program as native code; without them it is interpreted.
.PHONY: dpdk-internal
dpdk-internal: packages
	@$(PYTHON) hosts/dpdk/pipeline/native/headers.py $(DPDK_INTERNAL) $(DPDK_SOURCE:%=--source %)

.PHONY: build
build: $(HOSTS_BUILD)/build.ninja $(FLUID_BUILD)/build.ninja ## build everything that is C
	@ninja -C $(HOSTS_BUILD) --quiet
	@ninja -C $(FLUID_BUILD) --quiet

# Meson looks for the headers when it configures, and is told once that warnings are errors.
STRICT = $(if $(WERROR),$(STAMPS)/werror)
$(HOSTS_BUILD)/build.ninja: $(wildcard $(DPDK_INTERNAL)/*/package) $(STRICT)
	meson setup $(HOSTS_BUILD) hosts $(MESON_OPTIONS) $(if $(wildcard $@),--reconfigure)

$(FLUID_BUILD)/build.ninja: $(STRICT)
	meson setup $(FLUID_BUILD) $(FLUID) $(MESON_OPTIONS) $(if $(wildcard $@),--reconfigure)

# Optimised across files when it is linked: kernel TCP through the loop gains some 7 % (hosts/dpdk/README.md).
MESON_OPTIONS = --buildtype=release -Db_lto=true $(if $(WERROR),-Dwerror=true)

$(STAMPS)/werror:
	@mkdir -p $(@D)
	@touch $@

.PHONY: virtual
virtual: venv-and-build ## build what runs in virtual time, with its kernel (KERNEL=6.12)
	@$(BIN)/nashbed kernel build $(KERNEL)

# A kernel's source is loaded for a dozen of its files, which stay in ~/.cache/nashbed. GUEST=1: a
# whole kernel with queue disciplines is built, five minutes.
.PHONY: qdiscs
qdiscs: venv ## fetch Linux's queue disciplines, which tests/oracle compares ours with (KERNEL=6.1)
	@$(BIN)/python -m tests.oracle.$(if $(GUEST),guest.guest,source) $(KERNEL)

# The kernel's is compiled from its source distribution, in some five minutes.
.PHONY: wheel
wheel: venv ## write dist/: wheels of nashbed and of its kernel, with that one's source (CONTRIBUTING.md)
	@$(BIN)/python hosts/wheel $(WHICH) $(if $(KERNEL),--source $(KERNEL))
	@for wheel in dist/*.whl; do $(BIN)/auditwheel show $$wheel; done

.PHONY: p4
p4: ## compile p4src again (what has its compiler on PATH)
	@$(PYTHON) p4src/build.py

.PHONY: cc
cc: venv build ## commit the eBPF objects: congestion controls, arrival stamps (clang)
	$(BIN)/python hosts/cc/objects.py $(HOSTS_BUILD)/cc
	cp $(HOSTS_BUILD)/dpdk/xdp/arrival.bpf.o $(XDP)/objects/
	cd $(XDP) && sha256sum arrival.bpf.c arrival.h > objects/SHA256SUMS

.PHONY: rtl
rtl: venv ## simulate the FPGA cores, and count their cells (iverilog, yosys)
	$(BIN)/pytest -q -m "not pnr" tests/rtl
	$(PYTHON) hosts/fpga/synthesise.py --width 64

# Not in `make test`: minutes, and a wheel of 200 MB that nothing else needs.
.PHONY: place-tools
place-tools: venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r hosts/fpga/requirements.txt

.PHONY: test-pnr
test-pnr: place-tools ## place and route the FPGA cores and the board, and compare with the README (yosys)
	$(BIN)/pytest -q -m pnr tests/rtl

.PHONY: place
place: place-tools ## place and route the FPGA cores and the board, and write the README's tables
	$(BIN)/python hosts/fpga/place.py --write

.PHONY: bitstream
bitstream: place-tools ## write the FPGA board's bitstream: build/fpga/colorlight_i5.bit (yosys)
	$(BIN)/python hosts/fpga/place.py --board

.PHONY: proto
proto: venv ## generate the BfRt client's messages from its .proto file
	$(BIN)/python -m grpc_tools.protoc -I $(BFRT) --python_out=$(BFRT) --pyi_out=$(BFRT) \
		$(BFRT)/bfruntime.proto

# What is not found in the code or in the pages is an error. Nothing is asked of the network.
.PHONY: docs
docs: venv ## make the documentation, build/docs/index.html (strict, offline)
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -b html -d build/doctrees docs build/docs

.PHONY: schema
schema: venv ## write the JSON schemas of scenario and testbed files
	$(BIN)/nashbed schema --out configs/schema

.PHONY: clean
clean: ## remove what was built (results and .venv stay)
	rm -rf build
