// Package supervisor holds the top of Balsa's actor tree: what is started, in which order, who is
// told when it fails, and how it is stopped.
//
//	guardian (actors.System)
//	└── supervisor
//	    ├── storage                       (for builds)
//	    │   ├── trie-build × workers
//	    │   └── row-flush × flushers
//	    ├── bal-apply                     (for blocks)
//	    │   └── account-batch × workers
//	    └── shadow-root                   (for blocks, where it is asked for)
//	        └── shadow-replay
//
// # Role
//
// The supervisor starts its children in order and stops them in reverse. A child that panics is
// restarted by the strategy of package actors, a bounded number of times. When that is used up, the
// supervisor gives up: it calls Config.OnFatal once, and whoever embeds the engine closes it and
// exits. Without the shadow the tree goes on: nothing but a count depends on it (I6). Restart
// intensities multiply from level to level, so the top has none of its own.
//
//	receives     answers
//	FindActors   ActorsFound
package supervisor
