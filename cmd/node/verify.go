package main

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
)

func (a *app) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "recompute all tries from flat state and compare every branch row",
		UsageText: "balsa verify --datadir DIR",
		Flags: []cli.Flag{
			dataDirFlag(), cacheFlag(), jsonFlag("print the report as JSON"),
		},
		Action: a.action(0, 0, verify),
	}
}

func verify(ctx context.Context, c *cli.Command, s *session) (err error) {
	o := s.engineOptions(c)
	o.ReadOnly = true
	e, err := balsa.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, e.Close(closing))
	}()
	r, err := e.Verify(ctx, s.verifyProgress(time.Now))
	if err != nil && !errors.Is(err, balsa.ErrVerify) {
		return err
	}
	return errors.Join(err, s.printReport(&r, c.Bool(flagJSON)))
}

// verifyProgress logs how far along the account hashes a verification is, every progressInterval.
func (s *session) verifyProgress(now func() time.Time) func(common.Hash) {
	latest := now()
	return func(account common.Hash) {
		if t := now(); t.Sub(latest) >= progressInterval {
			latest = t
			// Hashes are evenly spread, so that the share of them is the share of the accounts.
			share := float64(binary.BigEndian.Uint64(account[:8])) / (1 << 64)
			s.log.Info("verifying", "percent", round1(100*share))
		}
	}
}

func (s *session) printReport(r *balsa.Report, asJSON bool) error {
	if asJSON {
		faults := r.Faults
		if faults == nil {
			faults = []string{}
		}
		return s.printJSON(struct {
			Cursor     cursorJSON  `json:"cursor"`
			Root       common.Hash `json:"root"`
			Accounts   uint64      `json:"accounts"`
			Slots      uint64      `json:"slots"`
			Branches   uint64      `json:"branchRows"`
			Codes      uint64      `json:"codes"`
			Missing    uint64      `json:"missingCodes"`
			Headers    uint64      `json:"headers"`
			BALs       uint64      `json:"accessLists"`
			Diffs      uint64      `json:"reverseDiffs"`
			FaultCount uint64      `json:"faultCount"`
			Faults     []string    `json:"faults"`
		}{jsonCursor(r.Cursor), r.Root, r.Accounts, r.Slots, r.Branches, r.Codes,
			r.MissingCodes, r.Headers, r.BALs, r.Diffs, r.FaultCount, faults})
	}
	for _, f := range r.Faults {
		s.printf("fault: %s\n", f)
	}
	if n := r.FaultCount - uint64(len(r.Faults)); n > 0 {
		s.printf("and %d more faults\n", n)
	}
	s.printf("%d accounts, %d slots, %d branch rows and %d codes checked, %d faults\n",
		r.Accounts, r.Slots, r.Branches, r.Codes, r.FaultCount)
	if r.MissingCodes > 0 {
		s.printf("%d accounts without their code\n", r.MissingCodes)
	}
	s.printf("%d headers, %d access lists and %d reverse diffs checked\n", r.Headers, r.BALs, r.Diffs)
	s.printf("cursor %s\n", formatCursor(r.Cursor))
	return nil
}
