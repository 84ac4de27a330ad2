package state

import (
	"encoding/binary"
	"testing"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// benchStore is a store on disk with a build that has just begun.
func benchStore(b *testing.B) (*Store, *Bulk) {
	b.Helper()
	s := mustOpen(b, Options{Dir: b.TempDir()})
	bulk, err := s.NewBulk(BulkOptions{ChainID: 1})
	if err != nil {
		b.Fatal(err)
	}
	return s, bulk
}

// BenchmarkBulkFlush writes the rows of tries with 21 branches each, the root with 16 children, the
// rest with 3, in the order in which a builder gives them: children before their parent. A segment
// has 1,000 accounts. An operation is a row.
func BenchmarkBulkFlush(b *testing.B) {
	s, bulk := benchStore(b)
	r := newRand(1)
	refs := make([]byte, 16*33)
	r.Read(refs)
	for i := range 16 {
		refs[33*i] = 0xa0
	}
	root := trie.Branch{Mask: 0xffff, Sub: 0xffff, Refs: refs}
	leaf := trie.Branch{Mask: 0x0888, Refs: refs[:3*33]}
	var rows, bytes int
	var st FlushStats
	w := bulk.NewRows()
	account := common.Hash{}
	b.ResetTimer()
	for segment := 0; rows < b.N; segment++ {
		var from common.Hash
		for i := range 1000 {
			binary.BigEndian.PutUint64(account[:], uint64(segment*1000+i))
			r.Read(account[8:])
			if i == 0 {
				from = account
			}
			for x := range byte(20) {
				p := trie.Path{}.Child(x & 15)
				if x >= 16 {
					p = p.Child(7)
				}
				binary.LittleEndian.PutUint64(refs[1:], uint64(rows)*0x9e3779b97f4a7c15)
				if err := w.PutStorageBranch(&account, p, leaf); err != nil {
					b.Fatal(err)
				}
				rows++
			}
			if err := w.PutStorageBranch(&account, trie.Path{}, root); err != nil {
				b.Fatal(err)
			}
			rows++
		}
		f, err := w.Flush(KeyRange{from, account})
		if err != nil {
			b.Fatal(err)
		}
		bytes += int(f.Bytes)
		st.Sort += f.Sort
		st.Write += f.Write
		st.Sync += f.Sync
	}
	b.StopTimer()
	b.ReportMetric(float64(bytes)/float64(rows), "B/row")
	b.ReportMetric(float64(st.Sort.Nanoseconds())/float64(rows), "sort-ns/row")
	b.ReportMetric(float64(st.Write.Nanoseconds())/float64(rows), "write-ns/row")
	b.ReportMetric(float64(st.Sync.Nanoseconds())/float64(rows), "sync-ns/row")
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	mustClose(b, s)
}

// loadSlots loads accounts with n slots each.
func loadSlots(b *testing.B, bulk *Bulk, accounts, n int) {
	b.Helper()
	r := newRand(1)
	var account, slot common.Hash
	value := []byte{0x94, 19: 0}
	for i := range accounts {
		binary.BigEndian.PutUint64(account[:], uint64(i)<<32)
		r.Read(account[8:])
		for j := range n {
			binary.BigEndian.PutUint64(slot[:], uint64(j+1)*(1<<63/uint64(n)))
			r.Read(slot[8:])
			r.Read(value[1:])
			value[1] |= 1
			if err := bulk.SlotRLP(&account, &slot, append(value, 1)[:21]); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := bulk.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBulkLoad loads slots of 21 bytes. An operation is a slot.
func BenchmarkBulkLoad(b *testing.B) {
	s, bulk := benchStore(b)
	b.ResetTimer()
	loadSlots(b, bulk, b.N/100+1, 100)
	b.StopTimer()
	mustClose(b, s)
}

// BenchmarkBulkReader reads all slots, account by account. An operation is a slot.
func BenchmarkBulkReader(b *testing.B) {
	for _, shape := range []struct {
		name        string
		accounts, n int
	}{{"small", 500_000, 2}, {"large", 100, 10_000}} {
		b.Run(shape.name, func(b *testing.B) {
			s, bulk := benchStore(b)
			loadSlots(b, bulk, shape.accounts, shape.n)
			r, err := bulk.NewReader()
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for n := 0; n < b.N; {
				var after *common.Hash
				for {
					account, ok, err := r.NextStorageAccount(after)
					if err != nil {
						b.Fatal(err)
					}
					if !ok {
						break
					}
					r.SeekSlots(&account, &common.Hash{})
					for {
						_, _, ok, err := r.NextSlot()
						if err != nil {
							b.Fatal(err)
						}
						if !ok {
							break
						}
						n++
					}
					after = &account
				}
			}
			b.StopTimer()
			mustClose(b, r)
			mustClose(b, s)
		})
	}
}
