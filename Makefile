# nashbed: the menu. `make help` lists the targets. Everything made is under build/ and .venv.

SHELL = /bin/sh
PYTHON ?= python3
SCENARIO ?= configs/scenarios/quickstart.yaml
TESTBED ?= configs/testbeds/virtual.yaml
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
help:
	@awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9.-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

##@ A user's first five

# Virtual time needs neither root nor huge pages, but a kernel of its own.
IN_VIRTUAL_TIME = $(shell grep -ls '^target: *virtual' $(TESTBED))

.PHONY: run
run: $(if $(IN_VIRTUAL_TIME),virtual,setup) ## set up, then run SCENARIO, by default the quickstart, on TESTBED (7 min; then 1)
	$(BIN)/nashbed run $(SCENARIO) --testbed $(TESTBED) --out $(RESULTS)

.PHONY: virtual
virtual: venv-and-build ## build what runs in virtual time, with its kernel (5 min, once; KERNEL=6.12)
	@$(BIN)/nashbed kernel build $(KERNEL)

.PHONY: doctor
doctor: venv ## what is here, what will be skipped, how to get it (5 s)
	$(BIN)/nashbed doctor

.PHONY: test
test: test-setup ## set up, then every test (root; 20 min; skips are counted and explained)
	@status=0; \
	$(BIN)/pytest $(PARALLEL) $(SLOWEST) -m "not live and $(USUAL)" || status=$$?; \
	$(BIN)/pytest $(SLOWEST) -m "live and $(USUAL)" $(LIVE) || status=$$?; \
	exit $$status

# What is not found in the code or in the pages is an error. Nothing is asked of the network.
.PHONY: docs
docs: test-venv ## make the documentation, build/docs/index.html (1 min)
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -b html -d build/doctrees docs build/docs

##@ Change nashbed

.PHONY: check
check: test-packages test-venv ## linters, types, format, quick tests (no root; 3 min; CHANGED=1: what changed)
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-build check-style WERROR=1
	@$(MAKE) --no-print-directory -j 2 --output-sync=target check-types check-tests

.PHONY: check-types
check-types:
	$(BIN)/mypy

# CHANGED=1: since the last commit; or since the commit that it names.
SINCE = $(if $(filter 1,$(CHANGED)),HEAD,$(CHANGED))
.PHONY: check-tests
check-tests:
	$(BIN)/pytest -q $(PARALLEL) --hypothesis-profile=quick \
		-m "not live and not root and not slow and $(USUAL)" \
		$(if $(CHANGED),$$($(BIN)/python -m tests.support.changed $(SINCE)))

.PHONY: check-style
check-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory check-format

.PHONY: check-format
check-format:
	@find hosts analysis tests -name '*.[ch]' -print0 | xargs -0 -r $(BIN)/clang-format --dry-run --Werror

# Not in `make test`. FUZZ_MINUTES is how long each fuzz draws anew; each has its own time limit.
LONG = $(if $(FUZZ_MINUTES),NASHBED_FUZZ_MINUTES=$(FUZZ_MINUTES)) $(BIN)/pytest $(SLOWEST) --timeout 0
.PHONY: test-long
test-long: test-setup ## long proofs and fuzzing (root; 1 h; FUZZ_MINUTES=5)
	@status=0; \
	$(LONG) -n $$(nproc) --dist worksteal -m "long and not live" || status=$$?; \
	$(LONG) -m "long and live" tests/e2e || status=$$?; \
	exit $$status

# Not in `make test`: minutes of emulation, beside which nothing else should run.
.PHONY: test-pci
test-pci: test-setup ## the data plane on emulated PCI NICs, in QEMU (root; 10 min)
	$(BIN)/pytest $(SLOWEST) -m pci tests/pci

# Programs and libraries are built with gcov's counters; NASHBED_BUILD has tests use that build.
COVERED = NASHBED_BUILD=$(CURDIR)/$(COVERAGE) COVERAGE_FILE=$(CURDIR)/$(COVERAGE)/python/data \
	$(BIN)/pytest -q --cov --cov-report= --cov-append

.PHONY: coverage
coverage: test-setup coverage-build ## what no test enters, Python and C: build/coverage (root; 1 h)
	@rm -rf $(COVERAGE)/python
	@mkdir -p $(COVERAGE)/python
	@find $(COVERAGE) -name '*.gcda' -delete
	-$(COVERED) $(PARALLEL) -m "not live and $(USUAL)"
	-$(COVERED) -m "live and $(USUAL)"
	@$(MAKE) --no-print-directory coverage-report

.PHONY: coverage-build
coverage-build: test-venv
	@test -f $(COVERAGE)/hosts/build.ninja || \
		meson setup $(COVERAGE)/hosts hosts --buildtype=debugoptimized -Db_coverage=true
	@test -f $(COVERAGE)/analysis/build.ninja || \
		meson setup $(COVERAGE)/analysis $(FLUID) --buildtype=debugoptimized -Db_coverage=true
	@ninja -C $(COVERAGE)/hosts --quiet all tests
	@ninja -C $(COVERAGE)/analysis --quiet

.PHONY: coverage-report
coverage-report:
	$(BIN)/python -m tests.support.coverage $(COVERAGE)

.PHONY: fresh
fresh: ## prove all this on bare Debian roots (root; 5 h; ROOTS=, STEPS=, KEEP=1, RESUME=1)
	@$(PYTHON) -m tests.fresh $(if $(ROOTS),--roots "$(ROOTS)") $(if $(STEPS),--steps "$(STEPS)") \
		$(if $(KEEP),--keep) $(if $(RESUME),--resume) $(if $(DEBS),--cache "$(DEBS)") \
		$(if $(AT),--folder "$(AT)") $(if $(INTO),--into "$(INTO)") \
		$(if $(DPDK_SOURCE),--dpdk-source "$(DPDK_SOURCE)")

# A kernel's source is loaded for a dozen of its files, which stay in ~/.cache/nashbed. GUEST=1: a
# whole kernel with queue disciplines is built, five minutes.
.PHONY: qdiscs
qdiscs: test-venv ## fetch Linux's queue disciplines, for tests/oracle (1 min; KERNEL=6.1)
	@$(BIN)/python -m tests.oracle.$(if $(GUEST),guest.guest,source) $(KERNEL)

# The kernel's is compiled from its source distribution, in some five minutes.
.PHONY: wheel
wheel: test-venv ## write dist/: wheels of nashbed and of its kernel, with that one's source (8 min)
	@$(BIN)/python hosts/wheel $(WHICH) $(if $(KERNEL),--source $(KERNEL))
	@for wheel in dist/*.whl; do $(BIN)/auditwheel show $$wheel; done

.PHONY: clean
clean: ## remove what was built; results and .venv stay (1 s)
	rm -rf build

##@ Measure

# Two testbeds, names or files: what `make equivalence` runs its matrix on.
FIRST ?= virtual
SECOND ?= embedded
MARGIN ?= 2%
MATRIX ?= ten-flows fifty-flows

.PHONY: equivalence
equivalence: setup virtual ## the same shares on two testbeds? (2 h; FIRST=, SECOND=, MARGIN=2%, MATRIX=)
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

# Each runs one trial at a time, so that its search asks for the same trials on every machine; as many
# run at once as there are cores. The panels at 500 Mbit/s would take longer than all the others.
BLIND = configs/scenarios/blind
BLIND_RUNS = $(filter-out %-500mbit-5ms.yaml %-500mbit-40ms.yaml,$(wildcard $(BLIND)/*.yaml))

.PHONY: blind
blind: virtual ## blind predictions of published values again: are all as committed? (10 min)
	@rm -rf build/blind
	@status=0; \
	printf '%s\n' $(BLIND_RUNS) | xargs -P $$(nproc) -I '{}' \
		$(BIN)/nashbed run '{}' --testbed one-at-a-time --out build/blind --no-report || status=$$?; \
	$(BIN)/nashbed published build/blind/* --against $(BLIND)/measured.csv || status=$$?; \
	exit $$status

.PHONY: bench
bench: test-venv build ## measured speed and memory (root; 10 min; AGAINST=COMMIT: in turns)
	$(BIN)/nashbed bench all --out $(BENCH) --machine "$(MACHINE)" \
		$(addprefix --part ,$(PARTS)) $(if $(AGAINST),--against $(AGAINST))

.PHONY: speed
speed: venv ## write the documents' tables of measured speed (5 s)
	$(BIN)/nashbed bench table $(SPEED)

##@ Set up, step by step

.PHONY: setup
setup: hugepages venv-and-build ## what runs in real time need: packages, huge pages, Python, C (2 min)

# Python's packages come while apt unpacks the others and C is compiled: they need its interpreter alone.
.PHONY: venv-and-build
venv-and-build: interpreter
	@$(MAKE) --no-print-directory -j 2 venv packages-and-build

.PHONY: packages-and-build
packages-and-build: dpdk-internal
	@$(MAKE) --no-print-directory build

# Of the tests' Python packages one has no wheel: they wait for the compiler.
.PHONY: test-setup
test-setup: hugepages interpreter ## and what tests need, with the kernel (8 min)
	@$(MAKE) --no-print-directory -j 2 venv test-packages
	@$(MAKE) --no-print-directory dpdk-internal
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-venv test-build
	@$(MAKE) --no-print-directory virtual

# Installs the listed packages that are missing, of the lines that sed's command $(1) leaves. Asked each
# time, for packages come and go without us: 0.1 s. It also passes offline once all is there; who is
# not root goes on without optional ones.
define install_packages
	@command -v dpkg-query > /dev/null || \
		{ echo "no dpkg here: see for yourself to what $(PACKAGES) lists"; exit 0; }; \
	installed=$$(dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $$(sed 's/#.*//' $(PACKAGES)) \
		2> /dev/null | sed -n 's/^installed //p'); \
	missing_of() { sed -e "$$1" -e 's/#.*//' $(PACKAGES) | tr -d ' ' | grep . | \
		grep -vxF -e "$$installed" | tr '\n' ' '; }; \
	missing=$$(missing_of '$(1)'); needed=$$(missing_of '$(1);/.# /d'); \
	if [ -z "$$missing" ]; then \
		:; \
	elif [ "$$(id -u)" -eq 0 ]; then \
		apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	elif [ -n "$$needed" ]; then \
		echo "not root: these packages are missing, \`sudo make $@\` installs them: $$missing"; \
		exit 4; \
	else \
		echo "not installed: $$missing(optional: what needs them is skipped; \`sudo make $@\`)"; \
	fi
endef

.PHONY: packages
packages: ## install the Debian packages that runs need (root; 1 min)
	$(call install_packages,/.# tests/d)

.PHONY: test-packages
test-packages: ## and those that only tests and special uses need (root; 1 min)
	$(call install_packages,/^$$/d)

.PHONY: interpreter
interpreter:
	$(call install_packages,/^python3/!d)

.PHONY: hugepages
hugepages: ## reserve huge pages for the data plane (1 s; HUGE_PAGES=600)
	@have=$$(cat /proc/sys/vm/nr_hugepages); \
	if [ "$$have" -lt $(HUGE_PAGES) ]; then \
		[ "$$(id -u)" -eq 0 ] || { echo "not root: huge pages cannot be reserved"; exit 4; }; \
		echo $(HUGE_PAGES) > /proc/sys/vm/nr_hugepages; \
		have=$$(cat /proc/sys/vm/nr_hugepages); \
		[ "$$have" -ge $(HUGE_PAGES) ] || echo "only $$have of $(HUGE_PAGES) huge pages" \
			"could be reserved: memory is too fragmented or too small"; \
	fi

# Exact versions, and our own packages as links to the folders. uv takes a fifth of pip's time but does
# not read its configuration: it is told of a mirror, and where it cannot install, pip does.
PIP = $(BIN)/pip install --quiet --disable-pip-version-check
MIRROR = $$($(BIN)/pip config list | \
	sed -n "s/^[^']*\.\(index-url\|extra-index-url\|find-links\)='\(.*\)'/--\1 \2/p")
UV = $(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python $(MIRROR)

.PHONY: venv
venv: $(STAMPS)/venv build/pylinks/nashbed

$(STAMPS)/venv: requirements.lock pyproject.toml
	@mkdir -p $(@D)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	-$(PIP) $$(grep '^uv==' $<)
	$(UV) -r $< || grep -v '^uv==' $< | $(PIP) --no-deps -r /dev/stdin
	$(PIP) --no-deps --no-build-isolation -e .
	echo $(CURDIR)/build/pylinks > $$($(BIN)/python -c 'import site; print(*site.getsitepackages()[:1])')/nashbed.pth
	touch $@

# What tests, types, documents, wheels and clusters need besides.
.PHONY: test-venv
test-venv: venv $(STAMPS)/test-venv

$(STAMPS)/test-venv: requirements-test.lock $(STAMPS)/venv
	$(UV) -r $< || $(PIP) --no-deps -r $<
	touch $@

# mypy, pyright and editors read the package through links to the folders, which nashbed.pth names.
API = $(wildcard controlplane/api/*.py*)
build/pylinks/nashbed: $(API)
	mkdir -p $@
	ln -sfn ../../../controlplane $@/controlplane
	ln -sfn ../../../analysis $@/analysis
	ln -sfn ../../../analysis/py.typed $@/py.typed
	ln -sfn $(API:%=../../../%) $@
	touch $@

# DPDK's own headers for the P4 program as native code; without them it is interpreted.
.PHONY: dpdk-internal
dpdk-internal: packages
	@$(PYTHON) hosts/dpdk/pipeline/native/headers.py $(DPDK_INTERNAL) $(DPDK_SOURCE:%=--source %)

.PHONY: build
build: $(HOSTS_BUILD)/build.ninja $(FLUID_BUILD)/build.ninja ## build what runs need of C (1 min)
	@ninja -C $(HOSTS_BUILD) --quiet
	@ninja -C $(FLUID_BUILD) --quiet

.PHONY: test-build
test-build: build ## and the C programs that only tests need (0.5 min more)
	@ninja -C $(HOSTS_BUILD) --quiet tests

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

##@ Generate what is committed

.PHONY: p4
p4: ## compile p4src again (1 min; what has its compiler on PATH)
	@$(PYTHON) p4src/build.py

.PHONY: cc
cc: test-packages venv build ## the eBPF objects: congestion controls, arrival stamps (1 min; clang)
	$(BIN)/python hosts/cc/objects.py $(HOSTS_BUILD)/cc
	cp $(HOSTS_BUILD)/dpdk/xdp/arrival.bpf.o $(XDP)/objects/
	cd $(XDP) && sha256sum arrival.bpf.c arrival.h > objects/SHA256SUMS

.PHONY: proto
proto: test-venv ## the BfRt client's messages, from its .proto file (5 s)
	$(BIN)/python -m grpc_tools.protoc -I $(BFRT) --python_out=$(BFRT) --pyi_out=$(BFRT) \
		$(BFRT)/bfruntime.proto

.PHONY: schema
schema: venv ## the JSON schemas of scenario and testbed files, and what C is told (5 s)
	$(BIN)/nashbed schema --out configs/schema
	$(BIN)/python -m nashbed.controlplane.contract.messages.described

##@ FPGA

.PHONY: rtl
rtl: test-packages test-venv ## simulate the cores, and count their cells (3 min; iverilog, yosys)
	$(BIN)/pytest -q -m "not pnr" tests/rtl
	$(PYTHON) hosts/fpga/synthesise.py --width 64

# Not in `make test`: minutes, and a wheel of 200 MB that nothing else needs.
.PHONY: place-tools
place-tools: test-packages test-venv
	$(PIP) -r hosts/fpga/requirements.txt

.PHONY: test-pnr
test-pnr: place-tools ## place and route the cores and the board, and compare with the README (10 min)
	$(BIN)/pytest -q -m pnr tests/rtl

.PHONY: place
place: place-tools ## place and route the cores and the board, and write the README's tables (10 min)
	$(BIN)/python hosts/fpga/place.py --write

.PHONY: bitstream
bitstream: place-tools ## write the board's bitstream: build/fpga/colorlight_i5.bit (5 min)
	$(BIN)/python hosts/fpga/place.py --board
