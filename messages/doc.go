// Package messages holds the protocols that Balsa's actors speak: one file a receiver.
//
// Commands are imperative (ApplyBlock), events are past tense (BlockApplied). A message is an
// immutable value: neither sender nor receiver changes it, or what it points to, once it is sent.
// Every command carries the request number that its answers repeat, so that a command may be sent
// again when the actor that had it in hand failed, and the PID that the answer goes to.
//
//	receiver       commands                       answers
//	BalApplyActor  ApplyBlock                     BlockApplied | BlockRejected
//	               Rewind                         Rewound | RewindRejected
//	AccountBatch   UpdateStorage                  StorageUpdated | JobFailed
//	               UpdateAccounts                 AccountsUpdated | JobFailed
//	ShadowRoot     CompareRoot                    none: it is counted
//	ShadowReplay   ReplayBlock                    BlockReplayed
//	StorageActor   FindCredit                     StorageCredit
//	               BuildStorage                   StorageBuilt, in parts | BuildRejected
//	               BuildAccounts                  AccountsBuilt | BuildRejected
//	               FindReport                     ReportFound
//	TrieBuild      BuildTries                     TriesBuilt
//	               SurveyTrie                     TrieSurveyed
//	               JoinTrie                       TriesBuilt
//	RowFlush       FlushRows                      RowsFlushed
//	both           Confirm                        Confirmed
//	Supervisor     FindActors                     ActorsFound
package messages
