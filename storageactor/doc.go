// Package storageactor builds storage tries, millions of them, and the account trie over them, from
// flat rows.
package storageactor
