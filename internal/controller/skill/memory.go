// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// memory is the memory of this process about a skill between two passes. All of it can be found out again. One pass of a skill at a time uses it.
type memory struct {
	uid types.UID
	// read is the version of the source when it was read last: see sourceVersion.
	read string
	// failures is how many times in a row the source could not be read.
	failures int
	// told are the unusable revisions that were reported already.
	told map[types.UID]bool
	// begun are the revisions whose review this process has begun.
	begun map[types.UID]bool
}

// memories are the memories of all skills.
type memories struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*memory
}

// of returns the memory of a skill, an empty one if there is none, or one of another skill of that name.
func (l *memories) of(sk *v1alpha1.Skill) *memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := client.ObjectKeyFromObject(sk)
	m := l.byKey[key]
	if m == nil || m.uid != sk.UID {
		m = &memory{uid: sk.UID, told: map[types.UID]bool{}, begun: map[types.UID]bool{}}
		if l.byKey == nil {
			l.byKey = map[types.NamespacedName]*memory{}
		}
		l.byKey[key] = m
	}
	return m
}

func (l *memories) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byKey, key)
}
