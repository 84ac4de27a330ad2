package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/balsa-sync/balsa/test/chaingen"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are what the flags say.
type options struct {
	config  chaingen.Config
	out     string
	headers bool
	check   bool
	list    bool
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "chaingen:", err)
		return exitUsage
	case o.list:
		for _, f := range chaingen.Families() {
			fmt.Fprintf(stdout, "%-15s %s\n", f.Name, f.Doc)
		}
		return exitDone
	}
	if err := generate(o, stdout); err != nil {
		fmt.Fprintln(stderr, "chaingen:", err)
		return exitFailed
	}
	return exitDone
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("chaingen", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.config.Family, "family", "mix", "what the blocks do; -list shows the families")
	fs.Uint64Var(&o.config.Seed, "seed", 1, "draws keys, addresses, amounts and choices")
	fs.IntVar(&o.config.Blocks, "blocks", 300, "number of blocks after the genesis")
	fs.IntVar(&o.config.Size, "size", 12, "transactions a block")
	fs.StringVar(&o.out, "out", "", "folder for the files (required; made if need be)")
	fs.BoolVar(&o.headers, "headers", false, "also write "+chaingen.HeadersFile)
	fs.BoolVar(&o.check, "check", false,
		"prove every state root from the access lists before writing")
	fs.BoolVar(&o.list, "list", false, "list the families and stop")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.list:
		return o, nil
	case o.out == "":
		return o, errors.New("-out is missing: the folder to write to")
	}
	return o, o.config.Validate()
}

func generate(o options, stdout io.Writer) error {
	chain, err := chaingen.Generate(o.config)
	if err != nil {
		return err
	}
	if o.check {
		if _, err := chaingen.Replay(chain); err != nil {
			return err
		}
	}
	if err := chain.WriteDir(o.out); err != nil {
		return err
	}
	if o.headers {
		path := filepath.Join(o.out, chaingen.HeadersFile)
		if err := chaingen.WriteFile(path, chain.WriteHeaders); err != nil {
			return err
		}
	}
	txs := 0
	for _, b := range chain.Blocks {
		txs += len(b.Transactions())
	}
	head := chain.Head()
	fmt.Fprintf(stdout, "%s: %d blocks, %d transactions, head %v, state root %v\n",
		o.out, len(chain.Blocks), txs, head.Hash(), head.Root())
	return nil
}
