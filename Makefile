# make demo   build, and watch agents talk to each other: no key, no network
# make test   format, vet, and the tests, quickly: long sweeps are short
# make check  the race detector where goroutines start, whole programs, types on macOS, staticcheck
# make full   all tests at full length, all but internal/cli under the race detector
# make race   eight stores on one database, ROUNDS=100 on each engine
# make house  how the code is built: names, sizes, widths, imports
# make bench  the speed goals, as ratios against floors of the same run; ENGINE=postgres
# make chaos  end fika at every durable step, break what it needs, see that nothing is lost
# make machines  several hosts of namespaces on one database: killed, frozen, cut off
# make escape try to get out of the sandbox, in each tier; the table is in docs/concepts/security.md
# make interop Claude Code, Codex, OpenCode, Gemini CLI and other clients, from npm, against fika
# make soak   20 agents at work with random kills and pauses, for DURATION
# make install  put it into PREFIX (/usr/local), with completions for the shells
# make dist   archives for Linux and macOS, on amd64 and arm64, in dist/
# make packages  those, .deb, .rpm, npm and Homebrew, and all of it tried
# make site   the pages of docs/ as a site, in site/
# make docs   write the generated references under docs/

GO ?= go
BIN := bin/fika
PREFIX ?= /usr/local
# The tag, with how far from it this is; dev outside of a repository.
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo dev)
MODULE := $(shell awk '$$1 == "module" {print $$2}' go.mod)
LDFLAGS := -s -w -X $(MODULE)/internal/cli.version=$(VERSION)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
export GOFLAGS ?= -trimpath
export BASE_URL HOMEPAGE MAINTAINER NPM_NAME SIGN_KEY
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build install dist packages site demo test check full race house bench escape chaos soak machines docs fmt clean

all: build

build:
	@GO="$(GO)" ./scripts/build.sh $(BIN) -ldflags "$(LDFLAGS)"

install:
	@test -x $(BIN) || { echo "make build first"; exit 1; }
	@DESTDIR="$(DESTDIR)" ./scripts/install.sh --program $(BIN) --prefix "$(PREFIX)"

# Knobs: PLATFORMS="linux/amd64", SIGN_KEY=~/.ssh/id_ed25519, BASE_URL=https://… (scripts/place.sh).
dist:
	@GO="$(GO)" VERSION="$(VERSION)" ./scripts/dist.sh $(PLATFORMS)

# Needs what it tries, as far as it is there: dpkg, debootstrap, rpm, npm, zsh, fish.
packages:
	@GO="$(GO)" VERSION="$(VERSION)" PACKAGES=1 ./scripts/dist.sh $(PLATFORMS)
	FULL=1 PLATFORMS="$(PLATFORMS)" $(GO) test -count=1 -timeout 60m -v ./test/packages ./test/site

demo: build
	@echo "starting a hub with three agents in a folder of its own:"
	./$(BIN) demo

# The pages as a site, in site/.
site:
	@GO="$(GO)" ./scripts/site.sh site

# Knob: PKG=./internal/hub/... .
test:
	@./scripts/need.sh
	@GO="$(GO)" ./scripts/test.sh

# The race detector needs cgo and a C compiler: without one it is left out.
check:
	@FULL=1 ./scripts/need.sh
	@GO="$(GO)" MODE=check ./scripts/test.sh
	$(GO) run ./test/types darwin/arm64
	$(GO) run $(STATICCHECK) ./...

full:
	@FULL=1 ./scripts/need.sh
	@GO="$(GO)" MODE=full ./scripts/test.sh

race:
	ROUNDS="$${ROUNDS:-100}" $(GO) test ./internal/store -run TestRace -v -timeout 60m

house: build
	@$(GO) run ./test/house $(BIN)

bench: build
	./scripts/bench.sh

# Writes its table into docs/concepts/security.md. As root it also tries as an ordinary user. Knob:
# TURNS=1 takes one route for each attempt instead of four, and writes nothing.
escape: build
	$(GO) run ./test/escape -bin $(BIN) $(if $(TURNS),-turns,-page docs/concepts/security.md)

# Knobs: ENGINE=postgres, SEEDS=20, POINT=finish-request, FAULT=kill-hub, CONTROL=fence, JOBS=4.
chaos:
	@GO="$(GO)" ./scripts/chaos.sh

# Knob: DURATION=10m.
soak:
	@GO="$(GO)" SOAK="$${DURATION:-10m}" ./scripts/chaos.sh

# Several hosts, made of namespaces of this machine: needs root, or user namespaces. With
# MINUTES=5 three of them then work for so long while they are killed, frozen, cut off and
# restarted (SEED=1: which, when); WITHOUT=watch leaves a guard out, and has to be noticed.
# FIGURES=1000 measures hops over slow links, and so many idle agents on three hosts. RUN=TestSoak
# runs that alone.
machines: build
	FIKA_E2E_BINARY="$$PWD/$(BIN)" $(GO) test -count=1 -timeout 90m -v -run "$(RUN)" ./test/machines

# Downloads 2.5 GB the first time; no model provider is reached. Knobs: RUN=TestGuests/claude,
# INTEROP=FOLDER of the packages.
interop: build
	@GO="$(GO)" ./scripts/interop.sh

docs:
	$(GO) run ./internal/dev/docgen docs

fmt:
	gofmt -w $$(git ls-files '*.go')

clean:
	rm -rf bin
