// Package invariants has assertions that cost nothing in an ordinary build. With the build tag
// "invariants" a broken one panics:
//
//	go test -tags invariants ./...
//
// They are for what only a mistake in Balsa can break. Bad input is an error, in every build.
package invariants
