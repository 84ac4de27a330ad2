package trietest_test

import (
	"bytes"
	"errors"
	"maps"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/trietest"
	"github.com/ethereum/go-ethereum/common"
)

// value is long enough for nodes that are not embedded.
var value = bytes.Repeat([]byte{1}, 40)

// four is a trie with a root branch and one branch below it.
func four(t *testing.T) *trietest.Trie {
	t.Helper()
	m := trietest.New()
	for _, key := range []common.Hash{{0x10}, {0x11}, {0x20}, {0x30}} {
		m.SetLeaf(key, value)
	}
	if _, err := m.Build(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReaderGivesTheLeastBelowAPath(t *testing.T) {
	m := four(t)
	root, below := trie.Path{}, trie.PathOf(common.Hash{0x10}, 1)
	for _, c := range []struct {
		p, at trie.Path
		ok    bool
	}{
		{root, root, true},
		{below, below, true},
		{trie.PathOf(common.Hash{0x10}, 2), trie.Path{}, false},
		{trie.PathOf(common.Hash{0x20}, 1), trie.Path{}, false},
	} {
		at, b, ok, err := m.FirstBranch(c.p)
		if err != nil || ok != c.ok || at != c.at || ok != (b.Mask != 0) {
			t.Errorf("branch at or below %v: got %v, %v, %v", c.p, at, ok, err)
		}
	}
	for _, c := range []struct {
		p   trie.Path
		key common.Hash
		ok  bool
	}{
		{root, common.Hash{0x10}, true},
		{trie.PathOf(common.Hash{0x11}, 2), common.Hash{0x11}, true},
		{trie.PathOf(common.Hash{0x20}, 64), common.Hash{0x20}, true},
		{trie.PathOf(common.Hash{0x40}, 1), common.Hash{}, false},
	} {
		key, v, ok, err := m.FirstLeaf(c.p)
		if err != nil || ok != c.ok || key != c.key || ok != bytes.Equal(v, value) {
			t.Errorf("leaf below %v: got %v, %v, %v", c.p, key, ok, err)
		}
	}
}

func TestSinkRefusesWhatNoUpdateMayDo(t *testing.T) {
	root, other := trie.Path{}, trie.PathOf(common.Hash{0x50}, 1)
	_, b, _, err := four(t).FirstBranch(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func(m *trietest.Trie) error
		ok   bool
	}{
		{"put", func(m *trietest.Trie) error { return m.PutBranch(0, root, b) }, true},
		{"put twice", func(m *trietest.Trie) error {
			return errors.Join(m.PutBranch(0, root, b), m.PutBranch(0, root, b))
		}, false},
		{"delete", func(m *trietest.Trie) error { return m.DeleteBranch(0, root) }, true},
		{"delete what is put", func(m *trietest.Trie) error {
			return errors.Join(m.PutBranch(0, root, b), m.DeleteBranch(0, root))
		}, false},
		{"put what is deleted", func(m *trietest.Trie) error {
			return errors.Join(m.DeleteBranch(0, root), m.PutBranch(0, root, b))
		}, false},
		{"delete what is not there", func(m *trietest.Trie) error {
			return m.DeleteBranch(0, other)
		}, false},
		{"put a bad row", func(m *trietest.Trie) error {
			return m.PutBranch(0, root, trie.Branch{Mask: 1})
		}, false},
		{"a tag without a trie", func(m *trietest.Trie) error {
			return trietest.Forest{1: m}.PutBranch(2, root, b)
		}, false},
	} {
		if err := c.do(four(t)); (err == nil) != c.ok || !c.ok && !errors.Is(err, trietest.ErrRow) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestRowsShowOnlyAfterCommit(t *testing.T) {
	m := four(t)
	before := m.Rows()
	if err := m.DeleteBranch(0, trie.Path{}); err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(before, m.Rows(), bytes.Equal) {
		t.Error("a delete shows before the commit")
	}
	m.Rollback()
	m.Commit()
	if !maps.EqualFunc(before, m.Rows(), bytes.Equal) {
		t.Error("a delete shows after a rollback")
	}
	if err := m.DeleteBranch(0, trie.Path{}); err != nil {
		t.Fatal(err)
	}
	m.Commit()
	if len(m.Rows()) != len(before)-1 {
		t.Errorf("%d rows after the commit of a delete, %d before", len(m.Rows()), len(before))
	}
}
