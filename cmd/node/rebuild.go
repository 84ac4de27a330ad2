package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
)

func (a *app) rebuildCommand() *cli.Command {
	return &cli.Command{
		Name:      "rebuild",
		Usage:     "build all tries again from the store's own flat state",
		UsageText: "balsa rebuild --datadir DIR",
		Description: "Mends branch rows that are missing or damaged. The old rows stay until the new " +
			"root is proven. Interrupted at any moment, the same command goes on where it was.",
		Flags: append([]cli.Flag{
			dataDirFlag(), verifyFlag(), cacheFlag(), jsonFlag("print the result and the report as JSON"),
		}, storageFlags()...),
		Action: a.action(0, 0, lean(rebuild)),
	}
}

func rebuild(ctx context.Context, c *cli.Command, s *session) error {
	p := s.newBuildDisplay("rebuilding", func() (int64, int64) { return 0, 0 })
	start := time.Now()
	res, err := balsa.Rebuild(ctx, s.engineOptions(c), balsa.RebuildOptions{Progress: p.update})
	took := time.Since(start)
	p.finish()
	if err != nil {
		return goOn(ctx, err)
	}
	if c.Bool(flagJSON) {
		err = s.printJSON(struct {
			Cursor         cursorJSON          `json:"cursor"`
			Seconds        float64             `json:"seconds"`
			OrphanAccounts uint64              `json:"orphanAccounts"`
			OrphanSlots    uint64              `json:"orphanSlots"`
			Corrected      uint64              `json:"correctedStorageRoots"`
			Storage        balsa.StorageReport `json:"storage"`
			AccountTrie    balsa.StorageReport `json:"accountTrie"`
		}{jsonCursor(res.Cursor), took.Seconds(), res.OrphanAccounts, res.OrphanSlots, res.Corrected,
			res.Storage, res.AccountTrie})
	} else {
		err = s.printBuildReports(&res.Storage, &res.AccountTrie)
		s.printCorrections(res.OrphanAccounts, res.OrphanSlots, res.Corrected)
		s.printf("all tries built again in %s, root proven\n", took.Round(time.Millisecond))
		s.printf("cursor %s\n", formatCursor(res.Cursor))
	}
	if err != nil {
		return err
	}
	return s.verifyAfter(ctx, c)
}
