package main

import (
	"context"
	"errors"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/genesisfile"
	"github.com/balsa-sync/balsa/state"
)

const (
	flagAlloc   = "alloc"
	flagHeader  = "header"
	flagChainID = "chainid"
)

func (a *app) initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "build a store and check its state root",
		UsageText: "balsa init --datadir DIR GENESIS.json\n" +
			"balsa init --datadir DIR --alloc ALLOC.json --header HEX|FILE [--chainid N]",
		Description: "From a genesis file as go-ethereum takes it, or from the accounts of any " +
			"block with that block's header. Files may be compressed with gzip. On a store that " +
			"holds this block already nothing is done.",
		Flags: append([]cli.Flag{
			dataDirFlag(),
			&cli.StringFlag{
				Name: flagAlloc, Sources: env(flagAlloc), DefaultText: "none", TakesFile: true,
				Usage: `file of accounts by address, alone or below "alloc"`,
			},
			&cli.StringFlag{
				Name: flagHeader, Sources: env(flagHeader), DefaultText: "none", TakesFile: true,
				Usage: "header of the alloc's block: its RLP in hex, or a file of it",
			},
			&cli.Uint64Flag{
				Name: flagChainID, Sources: env(flagChainID), DefaultText: "0: the genesis file's",
				Usage: "chain id that the store notes",
			},
			cacheFlag(),
			jsonFlag("print the cursor as JSON"),
		}, storageFlags()...),
		Action: a.action(0, 1, initStore),
	}
}

func initStore(ctx context.Context, c *cli.Command, s *session) error {
	g, err := interruptible(ctx, func() (*genesisfile.Genesis, error) { return readGenesis(c) })
	if err != nil {
		return err
	}
	s.log.Info("state read", "accounts", len(g.Alloc), "block", g.Header.Number,
		"root", g.Header.Root)
	cursor, err := balsa.Init(ctx, s.engineOptions(c), balsa.Genesis{
		ChainID: g.ChainID, Header: g.Header, Alloc: g.Alloc,
	})
	there := errors.Is(err, balsa.ErrInitialised)
	if err != nil && !there {
		return err
	}
	if c.Bool(flagJSON) {
		return s.printJSON(struct {
			Cursor   cursorJSON `json:"cursor"`
			ChainID  uint64     `json:"chainId"`
			Built    bool       `json:"built"`
			Accounts int        `json:"accounts"`
		}{jsonCursor(cursor), g.ChainID, !there, len(g.Alloc)})
	}
	if there {
		s.printf("the store holds block %d (%s) already; nothing was done\n", g.Header.Number,
			g.Header.Hash())
	} else {
		s.printf("%d accounts built, root proven\n", len(g.Alloc))
	}
	s.printf("cursor %s\n", formatCursor(cursor))
	return nil
}

// readGenesis reads what the arguments name: one genesis file, or an alloc with its header.
func readGenesis(c *cli.Command) (g *genesisfile.Genesis, err error) {
	file, alloc, header := c.Args().First(), c.String(flagAlloc), c.String(flagHeader)
	switch {
	case file != "" && alloc == "" && header == "":
		g, err = genesisfile.Read(file)
	case file == "" && alloc != "" && header != "":
		g = new(genesisfile.Genesis)
		if g.Header, err = genesisfile.ReadHeader(header); err == nil {
			g.Alloc, err = genesisfile.ReadAlloc(alloc)
		}
	default:
		return nil, usagef("init takes either a genesis file, or --%s with --%s", flagAlloc, flagHeader)
	}
	if err != nil {
		return nil, err
	}
	return g, setChainID(c, g)
}

// setChainID takes over --chainid, and checks what no store can be built of.
func setChainID(c *cli.Command, g *genesisfile.Genesis) error {
	if c.IsSet(flagChainID) {
		id := c.Uint64(flagChainID)
		if g.ChainID != 0 && id != g.ChainID {
			return usagef("--%s %d, but the genesis file is of chain %d", flagChainID, id, g.ChainID)
		}
		g.ChainID = id
	}
	if !g.Header.Number.IsUint64() || g.Header.Number.Uint64() == math.MaxUint64 {
		return usagef("the header has number %s", g.Header.Number)
	}
	return nil
}

// cursorJSON is a cursor in the output of commands.
type cursorJSON struct {
	Number uint64      `json:"number"`
	Hash   common.Hash `json:"hash"`
	Root   common.Hash `json:"root"`
}

func jsonCursor(c state.Cursor) cursorJSON { return cursorJSON(c) }
