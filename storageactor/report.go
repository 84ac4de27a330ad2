package storageactor

import "github.com/balsa-sync/balsa/messages"

// Report is what a phase was seen to take: see messages.BuildReport.
type Report = messages.BuildReport
