# Everything runs with nothing but Go (and a C compiler for -race). See CONTRIBUTING.md.
SHELL := /bin/bash
GO ?= go
BIN := $(CURDIR)/bin
APISERVER := $(BIN)/apiserver
GOVULNCHECK := $(GO) tool -modfile=$(CURDIR)/tools/go.mod govulncheck
FUZZED := . audit internal/decode internal/fanout internal/owners internal/pipeline internal/table test/e2e/wire
DURATION ?= 10m
INPUTS ?= 10000000
TIME ?= 1m
# All modules, which the night vets; and those that the gate vets.
MODULES := . debug/browser adapters/prom adapters/client test/conformance test/conformance/controllerruntime test/e2e examples test/bench tools
VETTED := . adapters/prom adapters/client examples
# The suites of make test, those first that fail soonest, and of make nightly: see tools/suites. make test compiles no API server.
GATE := format api vet unit staticcheck schedules conformance-suite
# Ours, and tests of others with our package in the place of client-go's.
OURS := race conformance-suite e2e e2e-tapped embedded controllerruntime examples browser
FOREIGN := foreign-cache foreign-packages foreign-controllerruntime
NIGHT := format api vet cross race staticcheck schedules apiserver conformance-suite foreign-cache e2e e2e-tapped examples browser embedded \
	controllerruntime foreign-packages foreign-controllerruntime + port + fuzz + bench-check + flaky
# The suites that the tree of an earlier minor has to pass.
PORTED := vet unit apiserver conformance-suite foreign-cache foreign-packages e2e e2e-tapped controllerruntime foreign-controllerruntime examples
MINOR ?= v0.36
PORT := $(BIN)/_port/$(MINOR)
# TESTFLAGS is given to every go test, RACE to those that need no -race at the gate. The timeout ends what hangs: it must
# not be missed by a machine that is ten times slower. What go vet looks for is the suite vet's.
TEST := $(GO) test -vet=off -timeout 2h $(TESTFLAGS)
N ?= 1
BUSY ?= 2
ROUNDS ?= 3
OUTAGES ?= 12s,60s
STATICCHECK := $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck
# The newest version that is tagged, with which make api compares, or none.
BASELINE := none
# Packages that one goroutine tests, but for tests that are named so, and models that one goroutine runs.
PLAIN := ./internal/decode/... ./internal/identical ./internal/rules ./factory/internal/tablegen
# Go commands at the gate compile with -race, whether or not they run tests, so that most packages are compiled once.
ONCE := $(if $(KINFORMER_NIGHT),,GOFLAGS=-race)
SMOKE := ^TestInformer(FollowsWriters|SurvivesRestarts)$$
TOGETHER := Together|Beside|WhileRead|WithoutNewlines
MODELS := ^Test(Model|AnswersAtThresholds)$$

.PHONY: $(GATE) e2e-smoke $(OURS) $(NIGHT) cluster help demo soak soak-virtual e2e-matrix outage fuzz-once mutants vulncheck ported next test nightly interleave conformance foreign bench bench-cluster bench-cluster-all kubernetes charts screenshots weight clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

SERVER ?= simulated
REAL = $(filter real,$(SERVER))
# Names packages as they are compiled, if a terminal looks.
WATCHED = $$([ -t 2 ] && echo -v)

demo: $(if $(REAL),apiserver) ## client-go's informers beside ours on a simulated API server, as a table, in a minute (SERVER=real: on the embedded one; DEMO_FLAGS=-keep keeps the page)
	@echo "building the demo$(if $(REAL),, and its simulated API server) (the first build downloads its modules and takes up to three minutes of processor time, later ones seconds)" >&2
	@mkdir -p $(BIN) && cd test/bench && $(GO) build $(WATCHED) -o $(BIN)/demo ./demo
	@$(BIN)/demo $(if $(REAL),-apiserver $(APISERVER)) $(DEMO_FLAGS)

test: ## what every change has to pass; a red suite does not keep the others from running, and a summary comes at the end
	@tools/suites $(GATE) $(if $(THEN),+ $(THEN))

nightly: ## everything: all tests with -race, load and bounds, the tests of others, random input, bench's floors, and our suites beside load: two hours
	@KINFORMER_NIGHT=1 RACE=-race tools/suites $(NIGHT)

flaky: apiserver ## all suites of ours N times beside BUSY busy loops: half an hour each; logs are in bin/flaky
	@trap 'kill $$(jobs -p)' EXIT; for i in $$(seq $(BUSY)); do while :; do :; done & done; rc=0; \
	for i in $$(seq $(N)); do TESTFLAGS=-count=1 BEGAN= LOGS=bin/flaky/$$i tools/suites $(OURS) || rc=1; done; exit $$rc

format: ## fail on files that gofmt would change
	@files=$$(find . -path ./bin -prune -o -name "*.go" -print | xargs gofmt -l); if [ -n "$$files" ]; then echo "not gofmt-ed:"; echo "$$files"; exit 1; fi

vet: ## go vet of what users import and of the examples; at night of every module
	@rc=0; for m in $(if $(KINFORMER_NIGHT),$(MODULES),$(VETTED)); do echo "vet $$m"; (cd $$m && $(ONCE) $(GO) vet ./...) || rc=1; done; exit $$rc

cross: ## go vet of the library for arm64 and 386; tests are not run
	@rc=0; for a in arm64 386; do echo "vet for $$a"; GOARCH=$$a CGO_ENABLED=0 $(GO) vet ./... || rc=1; done; exit $$rc

staticcheck: ## staticcheck of the root; at night of every module
	@$(STATICCHECK) -version >/dev/null && tool=$$($(STATICCHECK:staticcheck=-n staticcheck)) && \
	rc=0 && for m in $(if $(KINFORMER_NIGHT),$(MODULES),.); do echo "staticcheck $$m"; (cd $$m && $(ONCE) $$tool ./...) || rc=1; done; exit $$rc

unit: ## unit and model tests: with -race where there are goroutines, without load and bounds
	@rc=0; $(TEST) -race $$($(GO) list ./... | grep -vxF "$$($(GO) list $(PLAIN) ./internal/table)") || rc=1; \
	$(TEST) -race -skip '$(MODELS)' ./internal/table || rc=1; \
	$(TEST) -tags invariants -run '$(MODELS)' ./internal/table || rc=1; \
	$(TEST) -race -run '$(TOGETHER)' ./internal/decode/... ./internal/identical || rc=1; \
	$(ONCE) $(TEST) -race=false $(PLAIN) || rc=1; \
	for m in adapters/prom adapters/client; do (cd $$m && $(TEST) -race ./...) || rc=1; done; \
	(cd tools && $(TEST) -race -count=1 ./...) || rc=1; exit $$rc # these read files outside of their module, so that results must not be cached

race: ## all tests of these modules, with -race but for TestHerd and its like, in whose thousands of timers Go 1.26.8 itself crashes now and then
	@rc=0; for m in . adapters/prom adapters/client test/bench tools; do (cd $$m && KINFORMER_NIGHT=1 $(TEST) -race -skip '^Test(Herd|HalfDead)' ./...) || rc=1; done; \
	KINFORMER_NIGHT=1 $(TEST) -run '^Test(Herd|HalfDead)' ./internal/reflector || rc=1; exit $$rc

conformance: conformance-suite foreign-cache foreign-packages ## client-go's own tests, packages of others, and our suite on both libraries

conformance-suite: ## our conformance suite on both libraries, and with KINFORMER=off
	cd test/conformance && $(TEST) -race -skip '^TestPackagesOfOthers$$' ./...
	cd test/conformance && KINFORMER=off $(TEST) -race -skip '^Test(Queue|DeltaFIFO|RealFIFO|PopBatch)$$' ./suite # queues stay ours

foreign: $(FOREIGN) ## the tests of others, with our package in the place of client-go's

foreign-cache: ## client-go's own tests of tools/cache
	cd test/conformance && $(GO) run ./upstream

foreign-packages: ## packages that make or use informers, of client-go and cloud-provider
	cd test/conformance && $(TEST) -race -run '^TestPackagesOfOthers$$' ./mixing

foreign-controllerruntime: apiserver ## controller-runtime's own tests of its caches and sources (KINFORMER_TAPPED=1: as they decode directly)
	cd test/conformance/controllerruntime && KINFORMER_APISERVER=$(APISERVER) $(TEST) -race -run '^TestControllerRuntimesOwnTests$$' ./...
	$(if $(KINFORMER_NIGHT),cd test/conformance/controllerruntime && KINFORMER=off KINFORMER_APISERVER=$(APISERVER) $(TEST) -race -run '^TestControllerRuntimesOwnTests$$' ./...)

apiserver: $(APISERVER) ## build the embedded API server (the first build takes minutes)

$(APISERVER): $(shell find test/e2e/apiserver test/e2e/cmd -name '*.go' 2>/dev/null) test/e2e/go.mod
	@echo "building the embedded API server into $@ (the first build takes six minutes of processor time, later ones seconds)"
	@mkdir -p $(BIN) && cd test/e2e && $(GO) build $(WATCHED) -o $@ ./cmd/apiserver

e2e: apiserver ## against the embedded API server, which runs as a child without -race
	cd test/e2e && KINFORMER_APISERVER=$(APISERVER) $(TEST) -race ./...

e2e-smoke: apiserver ## an informer by list, by watch-list and tapped, after kill -9 and a 410
	cd test/e2e && KINFORMER_APISERVER=$(APISERVER) $(TEST) -race -run '$(SMOKE)/^pods-protobuf$$' .
	cd test/e2e && KINFORMER_TAPPED=1 KINFORMER_APISERVER=$(APISERVER) $(TEST) -race -run '$(SMOKE)/^pods-protobuf$$/^list$$' .

e2e-tapped: apiserver ## these informers, and controller-runtime's, as they decode what the server sends themselves; fails if none does
	cd test/e2e && KINFORMER_TAPPED=1 KINFORMER_APISERVER=$(APISERVER) $(TEST) -race .
	cd test/conformance/controllerruntime && KINFORMER_TAPPED=1 KINFORMER_APISERVER=$(APISERVER) $(TEST) -race \
		-skip '^(TestControllerRuntimesOwnTests|TestMatrix)$$' ./...

e2e-matrix: apiserver ## decoding directly beside the client's decoding, in all combinations of client, encoding, HTTP, gzip and mode
	cd test/e2e && KINFORMER_MATRIX=all KINFORMER_APISERVER=$(APISERVER) $(TEST) -run '^TestMatrix$$' -v ./matrix
	cd test/conformance/controllerruntime && KINFORMER_MATRIX=all KINFORMER_APISERVER=$(APISERVER) $(TEST) -run '^TestMatrix$$' -v ./...

outage: apiserver ## stop the API server for OUTAGES and start it again, ROUNDS times for each side: how soon 60 informers are fresh, and what they ask; 10 minutes a round of 12s, 22 of 60s (OUTAGE_FLAGS=-kill)
	cd test/e2e && KINFORMER_APISERVER=$(APISERVER) $(TEST) -count=1 -v -run '^TestOutages$$' ./blindness -outages $(OUTAGES) -rounds $(ROUNDS) $(OUTAGE_FLAGS)

embedded: ## what informers take, without -race
	cd test/e2e && $(TEST) ./resources

controllerruntime: apiserver ## controller-runtime with our informers, against the embedded API server
	cd test/conformance/controllerruntime && KINFORMER_APISERVER=$(APISERVER) $(TEST) -race -skip '^TestControllerRuntimesOwnTests$$' ./...

examples: apiserver ## the demo and the examples
	cd examples && KINFORMER_APISERVER=$(APISERVER) $(TEST) $(RACE) ./...
	cd examples && KINFORMER=off KINFORMER_APISERVER=$(APISERVER) $(TEST) $(RACE) -run '^Test(Controller|ControllerRuntime|Dynamic)$$' .
	cd test/bench && KINFORMER_APISERVER=$(APISERVER) $(TEST) $(RACE) -run '^TestDemo$$' ./demo
	cd examples && $(TEST) -count=1 ./internal/snippets # the go command does not see that documents have changed

browser: ## the pages of package debug in Chromium; skipped without it, but not in CI
	cd debug/browser && $(TEST) -race ./...

screenshots: ## take the pictures in docs/pictures, with Chromium
	cd debug/browser && $(GO) test -count=1 -run '^TestPictures$$' . -pictures $(CURDIR)/docs/pictures

bench: ## side by side with client-go; prints docs/benchmarks/README.md (BENCH_FLAGS=-quick for three minutes)
	@cd test/bench && $(GO) run . $(BENCH_FLAGS)

bench-check: ## fail when a ratio of a quick run is below its floor in test/bench/floors.txt
	@mkdir -p $(BIN)
	@cd test/bench && $(GO) run . -quick -check floors.txt > $(BIN)/bench-check.md

# What N, which other targets have, is here if nobody says: nodes.
NODES = $(if $(filter command environment,$(firstword $(origin N))),$(N),1000)
SIDES ?= client-go,direct
ENCODING ?= protobuf
SPEED ?= 10
VIRTUAL ?= 20m

bench-cluster: cluster ## a cluster of N nodes by SIDES of client-go,ours,direct,shared,keep in ENCODING; long periods are divided by SPEED (CLUSTER_FLAGS=-h for more)
	@cd test/bench && $(BIN)/cluster -n $(NODES) -sides $(SIDES) -encodings $(ENCODING) -speed $(SPEED) -state $(BIN)/bench-cluster \
		-command 'make bench-cluster N=$(NODES) SIDES=$(SIDES) ENCODING=$(ENCODING) SPEED=$(SPEED)$(if $(CLUSTER_FLAGS), CLUSTER_FLAGS="$(CLUSTER_FLAGS)")' $(CLUSTER_FLAGS)

SIDES_OF_ALL := client-go,direct,shared,keep
bench-cluster-all: cluster ## prints docs/benchmarks/cluster.md: hours; runs those without a result in docs/benchmarks/cluster, which it keeps
	@$(if $(CLUSTER_FLAGS),echo "bench-cluster-all has no CLUSTER_FLAGS: give them to make bench-cluster" >&2; exit 2)
	@cd test/bench && run="$(BIN)/cluster -speed $(SPEED) -state $(CURDIR)/docs/benchmarks/cluster -resume" && \
	$$run -n 1000,5000,10000,20000 -sides $(SIDES_OF_ALL) >/dev/null && $$run -n 40000 -sides shared >/dev/null && \
	$$run -n 1000,10000 -sides $(SIDES_OF_ALL) -encodings json -command 'make bench-cluster-all'

cluster:
	@mkdir -p $(BIN) && cd test/bench && $(GO) build -o $(BIN)/cluster ./cluster

soak-virtual: ## plateau or leak: the heap of what decodes 1,000 nodes directly, for VIRTUAL (20m) of virtual time; fails for a leak; minutes
	@cd test/bench && $(GO) test -count=1 -v -timeout 2h -run '^TestVirtualSoak$$' ./cluster -cluster.virtual $(VIRTUAL)

kubernetes: ## the controllers and the scheduler of Kubernetes, by client-go and by us, through create, roll, failures and restarts on 100 fake nodes; the first build takes minutes (KUBERNETES_FLAGS=-h for more)
	@GO=$(GO) test/conformance/kubernetes/build/programs $(BIN)/kubernetes
	@cd test/conformance && $(GO) run ./kubernetes -bin $(BIN)/kubernetes $(KUBERNETES_FLAGS)

charts: ## take the figures of README.md over from docs/benchmarks, and draw them, and docs/pictures/demo.txt
	@$(GO) test -count=1 -run '^TestFiguresInReadme$$' ./internal/rules -figures.update
	@cd test/bench && $(GO) run ./chart $(CURDIR)

soak: apiserver ## faults around informers for DURATION (SEED=n replays a plan, SOAK_FLAGS=-library=client-go for that one, -tapped=100 if all decode directly)
	cd test/e2e && KINFORMER_APISERVER=$(APISERVER) $(GO) test -vet=off -count=1 -timeout 0 -v -run '^TestNothingLostNothingInvented$$' ./soak \
		-duration $(DURATION) -seed $(or $(SEED),$(shell date +%s)) -names 300 -pause 4ms $(SOAK_FLAGS)

# A target may fail without an input when its time is over, until Go 1.27 (golang/go#75804): it runs again.
fuzz: ## every fuzz target for TIME, 1m if nobody says (the first build of each module takes minutes)
	@for dir in $(FUZZED); do (cd $$dir && for target in $$($(GO) test -list '^Fuzz' . | grep '^Fuzz'); do \
		echo "fuzz $$dir $$target"; \
		before=$$(ls testdata/fuzz/$$target 2>/dev/null); \
		run="$(GO) test -run ^$$ -fuzz ^$$target\$$ -fuzztime $(TIME) -fuzzminimizetime 1s -parallel 2 ."; \
		$$run || { [ "$$before" = "$$(ls testdata/fuzz/$$target 2>/dev/null)" ] && echo "no input fails: once more" && $$run; } || exit 1; \
	done) || exit 1; done

fuzz-once: ## INPUTS random inputs of each decoder against client-go's; goes on where it was interrupted (SEED=n chooses the sequence)
	@mkdir -p $(BIN)/fuzz
	$(GO) test -v -timeout 0 -run '^TestInputs$$' ./internal/decode -decode.inputs $(INPUTS) -decode.state $(BIN)/fuzz $(if $(SEED),-decode.seed $(SEED))

# Folders that begin with _ are none of the packages of ./...
POINTS := $(BIN)/_interleave
SCHEDULED := internal/table internal/eventlog internal/decode/share internal/fanout
BY_SCHEDULES = (cd tools && $(GO) run ./interleave -C .. -o $(POINTS) $(SCHEDULED)) && rc=0 && for p in $(SCHEDULED); do echo "$$p"; \
	$(GO) vet -overlay $(POINTS)/overlay.json -tags interleave ./$$p && \
	$(GO) test -c -overlay $(POINTS)/overlay.json -tags interleave -o $(POINTS)/schedules.test ./$$p && \
	(cd $$p && $(POINTS)/schedules.test -test.run '^TestSchedules$$' -test.timeout 0 -schedules.table $(1)) || rc=1; done; exit $$rc

schedules: ## the lock-free parts and the delivery by all schedules with one preemption, or two: about a minute of processor time
	@$(call BY_SCHEDULES)

interleave: ## the same with one preemption more; ends with a table of configurations; an hour
	@$(call BY_SCHEDULES,-schedules.all)

mutants: ## show that schedules or tests of these parts notice each line of their protocols that is wrong: an hour (MUTANTS=internal/table for one)
	@GO=$(GO) tools/mutants/run '$(MUTANTS)'

api: ## the exported names beside those of version BASELINE: in a patch none may be gone or have changed
	@if [ $(BASELINE) = none ]; then tags=$$(git tag --list 'v*'); [ -z "$$tags" ] || { echo "BASELINE is none, and there is a tag: $$tags"; exit 1; }; \
		echo "no version is tagged yet: nothing to compare with"; exit; fi; \
	old=$$(mktemp -d) && trap 'rm -rf $$old' EXIT && set -o pipefail && rc=0 && \
	apidiff="$(GO) tool -modfile=$(CURDIR)/tools/go.mod apidiff -m" && minor=$$($(GO) list -m -f '{{.Version}}' k8s.io/client-go) && \
	for m in . adapters/prom adapters/client; do path=$$(cd $$m && $(GO) list -m) && \
		(cd $$old && rm -f go.* && $(GO) mod init example.com/user && $(GO) get $$path/...@$(BASELINE)) 2>/dev/null && \
		(cd $$old && $$apidiff -w $$old/names $$path) && gone=$$(cd $$m && $$apidiff -incompatible $$old/names $$path 2>/dev/null) || exit 2; \
		(cd $$m && $$apidiff $$old/names $$path 2>/dev/null); [ -z "$$gone" ] || rc=1; done; \
	if [ $$(cut -d. -f1,2 <<<$(BASELINE)) != $$(cut -d. -f1,2 <<<$$minor) ]; then rc=0; fi; exit $$rc

ported: ## the tree of MINOR=v0.36, made by tools/port, in bin/_port
	@rm -rf $(PORT) && cd tools && $(GO) run ./port -minor $(MINOR) -o $(PORT)
	@cd $(PORT) && git init --quiet && git add --all

port: ported ## its tests, those of its client-go and controller-runtime included: half an hour
	@cd $(PORT) && unset KINFORMER_NIGHT RACE BEGAN && LOGS=bin/test tools/suites $(PORTED)

next: ## port to the newest pre-release of client-go, and print a page: what does not compile, which tests fail (K8S=v0.38.0-beta.0 for that one)
	@tools/next $(K8S)

vulncheck: ## known vulnerabilities in what every module calls; asks the database at GOVULNDB over the network
	@for m in $(MODULES); do echo "govulncheck $$m"; $(GOVULNCHECK) -C $$m ./...; rc=$$?; \
		if [ $$rc = 3 ]; then echo "vulncheck: VULNERABLE: module $$m, see above"; exit 3; fi; \
		if [ $$rc != 0 ]; then echo "vulncheck: NOT CHECKED: no verdict on module $$m and those after it. govulncheck needs"; \
		echo "the database, over the network or as GOVULNDB=file:///a/copy/of/it"; exit 1; fi; done

weight: ## count lines: linked, maintained, rigs, tests; and the functions of an update
	@tools/weight

clean: ## remove what was built
	rm -rf $(BIN)
