# make run    build bin/balsa, make a store from the sample chain's genesis and replay the chain
# make test   vet and test everything
# make soak   replay the sample chain and a generated one of 10,000 blocks, every root computed a
#             second way (minutes)
# make cross  build everything for processors without the assembly, and vet and test what has it
# make race   the tests again with the race detector (needs a C compiler) and assertions
# make simulate       SEEDS simulated lives of the engine, from seed FROM on (see test/simulation)
# make mutants        plants each fault of internal/mutants and has the simulation catch it (minutes)
# make fuzz           every fuzz target for FUZZTIME (10 minutes each; CI takes seconds)
# make bench-hash     Keccak and tries at each number of lanes, beside go-ethereum (minutes)
# make bench-storage   all tries of a state like mainnet's at SCALE: report, sweeps and their plots in
#                      OUT, and the ratio to go-ethereum (some ten minutes on two cores)
# make bench-bal      block access lists of each family, Balsa's paths and go-ethereum in turn; growth
#                     with the state and with the block, workers; plots in OUT (an hour)
# make jaeger  traces in a real Jaeger: builds one the first time (some minutes), then half a minute
# make bench-blocks   blocks on a state of 1 M accounts, Balsa and go-ethereum in turn (minutes)

GO      ?= go
BIN     := bin/balsa
SAMPLE  := test/chaingen/sample
STORE   := bin/sample-store
SCALE   ?= 1/100
OUT     ?= bin/bench
SOAK_BLOCKS ?= 10000
SEEDS   ?= 10000
FUZZTIME ?= 10m
MUTANTS := $(filter-out doc off mutants,$(basename $(notdir $(wildcard internal/mutants/*.go))))
FROM    ?= 1

.PHONY: jaeger mutants fuzz
.PHONY: all build run test soak simulate cross race fmt-check bench-bal bench-blocks bench-hash \
  bench-storage clean

all: build

build:
	$(GO) build -o $(BIN) ./cmd/node

run: build
	rm -rf $(STORE)
	$(BIN) init --datadir $(STORE) $(SAMPLE)/genesis.json
	$(BIN) replay --datadir $(STORE) $(SAMPLE)/payloads.jsonl.gz
	$(BIN) verify --datadir $(STORE)

test: fmt-check
	$(GO) vet ./...
	$(GO) test -timeout 30m ./...

simulate:
	$(GO) build -o bin/simulate ./test/simulation/cmd/simulate
	bin/simulate -from $(FROM) -seeds $(SEEDS)

soak: build
	rm -rf bin/soak
	$(BIN) init --datadir bin/soak/sample-store $(SAMPLE)/genesis.json
	$(BIN) soak --datadir bin/soak/sample-store $(SAMPLE)/payloads.jsonl.gz
	$(GO) run ./test/chaingen/cmd/chaingen -blocks $(SOAK_BLOCKS) -size 4 -out bin/soak/chain
	$(BIN) init --datadir bin/soak/store bin/soak/chain/genesis.json
	timeout 10m $(BIN) soak --nosync --datadir bin/soak/store bin/soak/chain/payloads.jsonl.gz
	$(BIN) verify --datadir bin/soak/store

mutants:
	@missed=0; for tag in $(MUTANTS); do \
	  $(GO) build -tags mutant,$$tag -o bin/mutant ./test/simulation/cmd/simulate || exit 1; \
	  if bin/mutant -seeds 1000 -chunk 25 -failures 1 > bin/mutant.out; \
	  then echo "$$tag: NOT CAUGHT"; missed=1; \
	  else echo "$$tag: $$(grep -m1 FAILED bin/mutant.out | cut -c1-220)"; fi; \
	done; exit $$missed

fuzz:
	@for file in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$file); do \
	    echo "$$(dirname $$file) $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./$$(dirname $$file) || exit 1; \
	  done; \
	done

cross:
	GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./trie/...
	GOAMD64=v1 $(GO) build -o /dev/null ./...
	$(GO) vet -tags purego ./trie/...
	$(GO) test -tags purego ./trie/keccak
	BALSA_KECCAK_LANES=1 $(GO) test ./trie/...

race:
	CGO_ENABLED=1 $(GO) test -race -short -timeout 30m -tags invariants ./...

fmt-check:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

clean:
	rm -rf bin

bench-bal: build
	$(BIN) bench bal --rounds 6 --blocks 15 --accounts 20000,1000000 --cache.mib 512 --versus 2 \
	  --growth 100000,1000000,10000000 --sizes 100,300,1000,3000,10000,30000 --out $(OUT)

bench-blocks:
	BALSA_BENCH_ACCOUNTS=1000000 BALSA_BENCH_CONTRACTS=10000 BALSA_BENCH_SLOTS=100 \
	BALSA_BENCH_BLOCKS=300 BALSA_BENCH_SEGMENT=100 BALSA_BENCH_CACHE_MB=1024 BALSA_BENCH_NOSYNC=1 \
	$(GO) test -run '^$$' -bench Blocks -benchtime 1x -cpu 1,2 -timeout 60m -v ./test/bench

jaeger:
	cd test/jaeger && $(GO) test -count=1 -timeout 30m -v .

bench-hash: build
	$(BIN) bench hash

bench-storage: build
	$(BIN) bench storage --scale $(SCALE) --rounds 2 --out $(OUT) \
	  --sweep batch=1,16,32,64,128,256 --sweep workers=1,2,4 --scales 1/10000,1/1000,$(SCALE)
	$(GO) test -run '^$$' -bench Tries -benchtime 1x -timeout 30m -v ./test/bench
