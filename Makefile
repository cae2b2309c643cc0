# One command each; every target installs what it needs first (scripts/setup) and is fast when all
# is there. Nothing here is needed to build by hand: `cargo build --release` does the same.

CARGO := scripts/cargo
# Where cargo puts its results; the laboratory finds mptd beside its own executable.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The tests make network namespaces, which takes the rights of root.
RUNNER := --config "target.'cfg(unix)'.runner=['$(CURDIR)/scripts/run-test']"
# Continuous integration runs `make test` as well, and so those tests of `seen` that need nothing else.
SEEN_TESTS = $(if $(CI),--ignored,--include-ignored)
# The programs as `make test` builds them. Cargo gives a crate the features that the selected packages ask for, and builds it anew for another selection.
TESTED := --locked --workspace --bins --test seen
# Seconds for `make fuzz`, per target.
FUZZ_SECONDS := 10
# More arguments for the laboratory, for example `make bench LAB=--quick`.
LAB :=

# tc and ethtool live where an ordinary user does not look.
export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

.PHONY: demo
demo: ## two hosts, two paths, one tunnel: builds it and shows what it carries; LAB=--live keeps one to look at
	@scripts/setup demo
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	$(TARGET)/release/mpt-lab demo $(LAB)

.PHONY: test
test: ## every test; needs root or sudo or user namespaces for the network tests
	@scripts/setup test
	$(CARGO) test --workspace --locked --no-fail-fast $(RUNNER)

.PHONY: seen-test
seen-test: ## the status, mpt top in a real terminal, the dashboard in a real browser and its metrics in a real Prometheus; needs root
	@scripts/setup seen-test
	$(CARGO) build $(TESTED)
	$(CARGO) test --locked --workspace --test seen $(RUNNER) -- $(SEEN_TESTS) --test-threads 2

# Where `make screenshots` keeps the pictures of the README.
PICTURES := docs/pictures

.PHONY: screenshots
screenshots: ## the pictures of the README anew, of a tunnel that runs in network namespaces; needs root
	@scripts/setup seen-test
	$(CARGO) build $(TESTED)
	@mkdir -p $(PICTURES)
	MPT_SCREENSHOTS=$(CURDIR)/$(PICTURES) \
		$(CARGO) test --locked --workspace --test seen $(RUNNER) -- --ignored the_pictures_of_the_readme

# Where `make bench`, `make clients` and `make costs` keep their results, from which the tables of docs/performance.md are made. A run with
# other arguments (LAB) is not what the tables say it is: it keeps nothing.
PERFORMANCE := docs/performance
STORE = $(if $(LAB),,--store $(PERFORMANCE))
TABLES = $(if $(LAB),:,$(TARGET)/release/mpt-lab performance $(PERFORMANCE).md)

.PHONY: bench
bench: ## the speed table of docs/performance.md; fails when a must is missed
	@scripts/setup lab
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	$(CARGO) bench --locked -p mpt-wire -p mpt-core -p mpt-offload --benches -- --warm-up-time 1 --measurement-time 2 --noplot
	# A figure that was missed is told in the tables, too.
	PATH="$(CURDIR)/target/wireguard-go:$$PATH" $(TARGET)/release/mpt-lab bench $(STORE) $(LAB); status=$$?; $(TABLES) && exit $$status

.PHONY: failover
failover: ## how long the tunnel takes to go on without a path that breaks; fails when a limit is missed
	@scripts/setup demo
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	$(TARGET)/release/mpt-lab failover $(LAB)

# Where `make papers` leaves what it measured. The same directory again: what is there is not measured again.
PAPERS := results/papers

.PHONY: papers
papers: ## every experiment, shortened, and the tables of docs/experiments.md from it: an hour
	@scripts/setup lab
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	# A measurement that failed is told in the tables, too; those of an interrupted run are left as they were.
	$(TARGET)/release/mpt-lab run all --quick --lenient --out $(PAPERS) $(LAB); status=$$?; \
		[ $$status -eq 130 ] || $(TARGET)/release/mpt-lab report $(PAPERS) --docs docs/experiments.md || exit; \
		exit $$status

.PHONY: clients
clients: ## what 1,000 clients cost a concentrator, for docs/performance.md; fails when a limit is missed
	@scripts/setup demo
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	$(TARGET)/release/mpt-lab clients $(if $(LAB),,--rounds 3) $(STORE) $(LAB); status=$$?; $(TABLES) && exit $$status

.PHONY: costs
costs: ## what overflow checks and the filter of system calls cost, for docs/performance.md: builds mptd twice
	@scripts/setup demo
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	scripts/costs $(PERFORMANCE)
	$(TARGET)/release/mpt-lab performance $(PERFORMANCE).md

.PHONY: ciphers
ciphers: ## ring and aws-lc-rs on packets of 64 and 1,400 bytes and on super-packets: the choice that docs/performance.md explains
	@scripts/setup demo
	$(CARGO) run --release --locked --manifest-path examples/ciphers/Cargo.toml --target-dir $(TARGET)/ciphers

# Seconds for all kinds of attacks of `make hostile` together.
HOSTILE_SECONDS := 120

.PHONY: hostile
hostile: ## the hostile kit: strangers, a man in the middle and clients with a key beside correct peers: some minutes
	@scripts/setup test
	HOSTILE_SECONDS=$(HOSTILE_SECONDS) \
		$(CARGO) test --release --locked -p mptd --test hostile $(RUNNER) -- --nocapture --test-threads 1

.PHONY: lint
lint: ## formatting, clippy, documentation, layering, circles of files, licences, shell scripts
	@scripts/setup lint
	@scripts/lint

.PHONY: fuzz
fuzz: ## every fuzz target for a few seconds each (FUZZ_SECONDS)
	@scripts/setup test
	BOLERO_RANDOM_ITERATIONS=1000000000 BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_SECONDS)000 \
		$(CARGO) test --release --locked -p mpt-wire -p mpt-core -p mpt-linux fuzz
	BOLERO_RANDOM_ITERATIONS=1000000000 BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_SECONDS)000 \
		$(CARGO) test --release --locked -p mptd --lib fuzz

.PHONY: model
model: ## the models of the handshake: every reachable state within larger bounds than the tests have; attacks on its cryptography, by Verifpal
	@scripts/setup model
	$(CARGO) run --locked -p mpt-model
	$(CARGO) run --locked -p mpt-model --bin symbolic target/verifpal/bin/verifpal

.PHONY: example
example: ## examples/mpt.toml anew, from the table of keys (crates/mpt-config/src/keys)
	$(CARGO) run --quiet --locked -p mpt-config --example mpt_toml >$(TARGET)/mpt.toml && mv $(TARGET)/mpt.toml examples/mpt.toml

.PHONY: build
build: ## release binaries: mptd, mpt, mpt-lab
	@scripts/setup demo
	$(CARGO) build --release --locked --workspace

.PHONY: deb
deb: ## Debian packages of mptd with mpt, and of mpt-lab, in target/debian
	@scripts/setup deb
	$(CARGO) build --release --locked -p mptd -p mpt -p mpt-lab
	scripts/package $(TARGET)/release $(TARGET)/debian

.PHONY: deb-test
deb-test: ## packages of the tests' own build: installed, run, upgraded, purged and booted in a fresh Debian; needs root
	@scripts/setup deb-test
	$(CARGO) build $(TESTED)
	scripts/deb-test $(TARGET)/debug

.PHONY: static
static: ## static mptd and mpt, which need nothing else in a container; says where they are
	@scripts/setup demo
	scripts/static --release

.PHONY: static-test
static-test: ## static programs of the tests' own build, run in a root that is empty but for them; needs root
	@scripts/setup test
	scripts/static-test $$(scripts/static)

.PHONY: clean
clean: ## removes what was built
	$(CARGO) clean
