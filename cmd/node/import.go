package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/flatfile"
	"github.com/balsa-sync/balsa/internal/genesisfile"
)

const flagVerify = "verify"

func (a *app) importCommand() *cli.Command {
	return &cli.Command{
		Name:  "import",
		Usage: "load flat state from a file, build all tries and check the state root",
		UsageText: "balsa import --datadir DIR STATE.leaves\n" +
			"balsa import --datadir DIR --header HEX|FILE [--codes FILE] SNAPSHOT.gz",
		Description: "The file is a dump of \"geth db export snapshot\" with the header of its " +
			"block, what balsa export wrote, or a genesis as init takes it; with gzip or without. - is " +
			"standard input. Interrupted at any moment, the same command goes on where it was; with " +
			"another file it begins anew. On a store that holds the block already nothing is done.",
		Flags: append([]cli.Flag{
			dataDirFlag(),
			&cli.StringFlag{
				Name: flagHeader, Sources: env(flagHeader), DefaultText: "the file's", TakesFile: true,
				Usage: "header of the state's block: its RLP in hex, or a file of it",
			},
			&cli.StringSliceFlag{
				Name: flagCodes, Sources: env(flagCodes), DefaultText: "the file's", TakesFile: true,
				Usage: `file of codes by hash: JSON, or a dump of "geth db export code"`,
			},
			&cli.Uint64Flag{
				Name: flagChainID, Sources: env(flagChainID), DefaultText: "0: the file's",
				Usage: "chain id that the store notes",
			},
			verifyFlag(), cacheFlag(), jsonFlag("print the result and the report as JSON"),
		}, storageFlags()...),
		Action: a.action(1, 1, lean(importState)),
	}
}

func verifyFlag() cli.Flag {
	return &cli.BoolFlag{
		Name: flagVerify, Sources: env(flagVerify), DefaultText: "false",
		Usage: "recompute all tries afterwards, a second way, and compare every branch row",
	}
}

// input is a source with how far it is read.
type input struct {
	balsa.Source
	format string
	bytes  func() (done, total int64)
	close  func() error
}

func importState(ctx context.Context, c *cli.Command, s *session) (err error) {
	in, err := interruptible(ctx, func() (*input, error) { return s.openInput(c) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	_, h := in.Target()
	s.log.Info("importing", "format", in.format, "block", h.Number, "root", h.Root)
	o := s.engineOptions(c)
	p := s.newBuildDisplay("importing", in.bytes)
	start := time.Now()
	res, err := balsa.Import(ctx, o, in, balsa.ImportOptions{Progress: p.update})
	took := time.Since(start)
	p.finish()
	there := errors.Is(err, balsa.ErrInitialised)
	if err != nil && !there {
		return goOn(ctx, err)
	}
	if err := s.printImport(c, &res, h, took, there); err != nil {
		return err
	}
	return s.verifyAfter(ctx, c)
}

// goOn says that an interrupted build is not lost.
func goOn(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; run the same command again to go on where it was", err)
	}
	return err
}

// openInput opens the file that the arguments name.
func (s *session) openInput(c *cli.Command) (*input, error) {
	path := c.Args().First()
	var header *types.Header
	if h := c.String(flagHeader); h != "" {
		var err error
		if header, err = genesisfile.ReadHeader(h); err != nil {
			return nil, err
		}
	}
	genesis, err := isGenesis(path)
	if err != nil {
		return nil, err
	}
	if genesis {
		return openGenesis(c, path, header)
	}
	f, err := balsa.OpenFiles(balsa.Files{
		State: path, Header: header, ChainID: c.Uint64(flagChainID), Codes: c.StringSlice(flagCodes),
		Stdin: s.app.stdin,
	})
	if errors.Is(err, balsa.ErrHeader) {
		return nil, usagef("%w (--%s, --%s)", err, flagHeader, flagChainID)
	}
	if err != nil {
		return nil, err
	}
	return &input{Source: f, format: f.Format(), bytes: f.Progress, close: f.Close}, nil
}

// isGenesis tells files of JSON from those of rows.
func isGenesis(path string) (bool, error) {
	if path == flatfile.Stdin {
		return false, nil
	}
	r, err := flatfile.Open(path, nil)
	if err != nil {
		return false, err
	}
	return r.Format() == flatfile.CodesJSON, r.Close()
}

// openGenesis reads a genesis, or an alloc that comes with a header.
func openGenesis(c *cli.Command, path string, header *types.Header) (*input, error) {
	if len(c.StringSlice(flagCodes)) > 0 {
		return nil, usagef("--%s: a genesis has its codes", flagCodes)
	}
	g, err := new(genesisfile.Genesis), error(nil)
	if header == nil {
		g, err = genesisfile.Read(path)
	} else {
		g.Header = header
		g.Alloc, err = genesisfile.ReadAlloc(path)
	}
	if err != nil {
		return nil, err
	}
	if err := setChainID(c, g); err != nil {
		return nil, err
	}
	src, err := balsa.GenesisSource(balsa.Genesis{
		ChainID: g.ChainID, Header: g.Header, Alloc: g.Alloc,
	})
	if err != nil {
		return nil, err
	}
	return &input{
		Source: src, format: "genesis", bytes: func() (int64, int64) { return 0, 0 },
		close: func() error { return nil },
	}, nil
}

// printImport prints what was done.
func (s *session) printImport(c *cli.Command, res *balsa.ImportResult, h *types.Header,
	took time.Duration, there bool) error {
	if c.Bool(flagJSON) {
		return s.printJSON(struct {
			Cursor         cursorJSON          `json:"cursor"`
			Built          bool                `json:"built"`
			Seconds        float64             `json:"seconds"`
			Accounts       uint64              `json:"accounts"`
			Slots          uint64              `json:"slots"`
			Codes          uint64              `json:"codes"`
			CodesMissing   uint64              `json:"codesMissing"`
			OrphanAccounts uint64              `json:"orphanAccounts"`
			OrphanSlots    uint64              `json:"orphanSlots"`
			Corrected      uint64              `json:"correctedStorageRoots"`
			Storage        balsa.StorageReport `json:"storage"`
			AccountTrie    balsa.StorageReport `json:"accountTrie"`
		}{jsonCursor(res.Cursor), !there, took.Seconds(), res.Accounts, res.Slots, res.Codes,
			res.CodesMissing, res.OrphanAccounts, res.OrphanSlots, res.Corrected, res.Storage,
			res.AccountTrie})
	}
	if there {
		s.printf("the store holds block %d (%s) already; nothing was done\n", h.Number, h.Hash())
		s.printf("cursor %s\n", formatCursor(res.Cursor))
		return nil
	}
	err := s.printBuildReports(&res.Storage, &res.AccountTrie)
	s.printf("%d accounts, %d slots and %d codes imported in %s, root proven\n", res.Accounts,
		res.Slots, res.Codes, took.Round(time.Millisecond))
	if res.CodesMissing > 0 {
		least := ""
		if res.CodesUncounted {
			least = "at least "
		}
		s.printf("%s%d codes are missing: accounts have their hashes, the file does not have them\n",
			least, res.CodesMissing)
	}
	s.printCorrections(res.OrphanAccounts, res.OrphanSlots, res.Corrected)
	s.printf("cursor %s\n", formatCursor(res.Cursor))
	return err
}

// printCorrections says what of the flat state was not as it should be.
func (s *session) printCorrections(orphans, slots, corrected uint64) {
	if orphans > 0 {
		s.printf("%d slots of %d accounts without storage were left out\n", slots, orphans)
	}
	if corrected > 0 {
		s.printf("%d accounts had another storage root than their slots; it was corrected\n", corrected)
	}
}

// verifyAfter verifies the store if --verify asks for it.
func (s *session) verifyAfter(ctx context.Context, c *cli.Command) error {
	if !c.Bool(flagVerify) {
		return nil
	}
	return verify(ctx, c, s)
}
