//go:build mutant && embed_short

package mutants

// Active is the fault that is planted in this build.
const Active = EmbedShort
