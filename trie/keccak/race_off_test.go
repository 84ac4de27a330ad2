//go:build !race

package keccak_test

const raceEnabled = false
