// Package trietest holds tries in memory in the form of the store: branch rows and flat leaves. It
// is the [trie.Reader] and [trie.Sink] that tests use where they need no store, and it checks
// what a Sink may expect of the package trie: no row is put or deleted twice in one update, none
// both, and none is deleted that is not there.
package trietest
