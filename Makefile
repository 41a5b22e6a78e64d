# make demo   build, and watch agents talk to each other: no key, no network
# make test   everything that CI runs
# make check  the same, and what only developers need: staticcheck
# make bench  the speed goals, as ratios against floors of the same run
# make docs   write the generated references under docs/

GO ?= go
BIN := bin/fika
export GOFLAGS ?= -trimpath
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all build demo test check bench docs fmt clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -ldflags "-s -w" -o $(BIN) ./cmd/fika

demo: build
	./$(BIN) demo

# The race detector needs cgo and a C compiler: without one it is left out.
test:
	@GO="$(GO)" ./scripts/test.sh

check: test
	$(GO) run $(STATICCHECK) ./...

bench: build
	./scripts/bench.sh

docs:
	$(GO) run ./internal/docgen docs

fmt:
	gofmt -w $$(git ls-files '*.go')

clean:
	rm -rf bin
