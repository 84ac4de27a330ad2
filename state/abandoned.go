package state

import (
	"reflect"
	"sync"
)

// abandoned notes the directories that failed stores of this process keep locked, for whoever
// tries to open one again. Pebble's lock is of the process, too.
var abandoned lockedDirs

// lockedDirs are directories with why they stay locked.
type lockedDirs struct {
	mu   sync.Mutex
	dirs []lockedDir
}

// maxLockedDirs bounds what is noted; the newest stay.
const maxLockedDirs = 64

type lockedDir struct {
	fs  FS
	dir string
	err error
}

func (l *lockedDirs) add(o *Options, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.dirs) == maxLockedDirs {
		l.dirs = l.dirs[1:]
	}
	l.dirs = append(l.dirs, lockedDir{o.FS, o.Dir, err})
}

// cause is why the directory stays locked, nil where this process did not lock it for good.
func (l *lockedDirs) cause(o *Options) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.dirs {
		if d.dir == o.Dir && sameFS(d.fs, o.FS) {
			return d.err
		}
	}
	return nil
}

func sameFS(a, b FS) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}
