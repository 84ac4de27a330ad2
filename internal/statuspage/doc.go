// Package statuspage serves what a process shows of itself to a browser on the same machine: one
// page without external assets, the JSON behind it, and profiles where they are asked for.
//
//	/                what the engine does, drawn and kept up to date
//	/status.json     telemetry.Status
//	/debug/pprof/    profiles, with Options.PProf
//
// It is read-only and for this machine alone: it listens on loopback, takes GET and HEAD, and
// refuses requests for another host (a name that was made to point here) and from pages of another
// origin.
package statuspage
