# Everything that a developer or CI runs. `make help` lists the targets.

# Pinned tools, run straight from the module proxy: they are no dependencies of the product.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0

GOOS   := $(shell go env GOOS)
GOARCH := $(shell go env GOARCH)
BUNDLE := internal/bundle/data/cpython-$(GOOS)-$(GOARCH).tar.zst
VERSION ?=

# Python tools for tests and checks, in the bundled interpreter's own tree of packages.
PYTHON := build/python/bin/python3.14
PYRUN  := $(CURDIR)/$(PYTHON) -I

GOTEST := go test -timeout 20m

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: $(BUNDLE) ## build bin/ipython-mcp
	go build -trimpath -ldflags "$(if $(VERSION),-X main.version=$(VERSION))" -o bin/ipython-mcp ./cmd/ipython-mcp

# The Python that the binary carries: fetched and packed once, again when the lock file or the tool changes.
$(BUNDLE): internal/bundle/requirements.txt $(wildcard internal/bundle/mkbundle/*.go internal/bundle/archive/*.go)
	go run ./internal/bundle/mkbundle -out internal/bundle/data
	@touch $@

.PHONY: demo
demo: build ## build, then watch a session between an MCP client and the server
	go run ./tests/demo -binary bin/ipython-mcp

# What tests need beside Go and a C compiler: an interpreter with the Python tools, and the real clients where npm is there.
build/python/.made: tests/python/requirements.txt $(BUNDLE)
	go run ./internal/bundle/mkbundle -tools build/python -requirements tests/python/requirements.txt
	@mkdir -p build/tools && ln -sf ../python/lib/python3.14/site-packages/bin/uv build/tools/uv
	@touch $@

CLIENTS := build/clients

$(CLIENTS)/.made: tests/clients/package.json tests/clients/package-lock.json
	@mkdir -p $(CLIENTS)
	cp tests/clients/package.json tests/clients/package-lock.json $(CLIENTS)/
	@if command -v npm >/dev/null; then cd $(CLIENTS) && npm install --silent --no-audit --no-fund; \
	elif [ -n "$$CI" ]; then echo "npm is missing: the tests with real clients need Node.js" >&2; exit 1; \
	else echo "npm is missing: tests with real clients will be skipped" >&2; fi
	@touch $@

.PHONY: test
test: export PATH := $(CURDIR)/build/tools:$(PATH)
test: build build/python/.made $(CLIENTS)/.made ## install what tests need and run all of them
	CGO_ENABLED=0 $(GOTEST) ./internal/bounds ./dyntools ./envprov ./shell
	$(GOTEST) -race ./internal/... ./shell ./envprov ./dyntools ./cmd/...
	$(PYRUN) -m pytest -q
	IPYTHON_MCP_TEST_BINARY=$(CURDIR)/bin/ipython-mcp IPYTHON_MCP_TEST_CLIENTS=$(CURDIR)/$(CLIENTS) $(GOTEST) ./tests/...

.PHONY: check
check: $(BUNDLE) build/python/.made ## formatting, vet, static analysis, Python lint and types, tidy go.mod
	@test -z "$$(go run $(GOFUMPT) -l .)" || { go run $(GOFUMPT) -l .; echo "run make format" >&2; exit 1; }
	go vet ./...
	CGO_ENABLED=0 go vet ./internal/bounds ./dyntools ./envprov ./shell
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	$(PYRUN) -m ruff check shell/python tests/python envprov
	$(PYRUN) -m ruff format --check shell/python tests/python envprov
	$(PYRUN) -m mypy

.PHONY: format
format: build/python/.made ## format Go and Python
	go run $(GOFUMPT) -w .
	$(PYRUN) -m ruff format shell/python tests/python envprov

.PHONY: fuzz
fuzz: ## run every fuzz target for a while
	@for package in ./internal/bounds ./internal/server ./internal/bundle ./internal/pictures ./dyntools; do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime 200000x $$package || exit 1; done; done

build/fastmcp/.made: tests/bench/requirements.txt $(BUNDLE)
	go run ./internal/bundle/mkbundle -tools build/fastmcp -requirements tests/bench/requirements.txt
	@touch $@

.PHONY: bench
bench: build build/fastmcp/.made ## print speed and memory as ratios measured in one run
	go run ./tests/bench -binary bin/ipython-mcp -fastmcp-path $(CURDIR)/build/fastmcp/lib/python3.14/site-packages
	go test -run '^$$' -bench . -benchtime 1s ./internal/bounds ./internal/server

.PHONY: soak
soak: build ## run a session of mixed calls for two hours and watch its memory
	IPYTHON_MCP_TEST_BINARY=$(CURDIR)/bin/ipython-mcp IPYTHON_MCP_TEST_SOAK=2h go test -v -timeout 3h -run TestSoak ./tests/

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build internal/bundle/data/*.tar.zst
