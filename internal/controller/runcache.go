// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// runMemory is what this process remembers of a run between two passes. All of it can be found out again; without it each
// pass would read every Secret, and ask for every right, anew. One pass of a run at a time has it.
type runMemory struct {
	key types.NamespacedName
	uid types.UID
	// policies are the identities of the sandbox's NetworkPolicies as they were found or made last.
	policies map[string]string
	// policyChanged says that one of them was found changed or deleted, which no status says yet.
	policyChanged bool
	// counted is up to when the gaps are in the status, with countedSeconds of pauses: see countGaps.
	counted        time.Time
	countedSeconds int64
	// written is the grant as it was found or written last, at the time lookedAt. It is nil if there may be none.
	written  *grant.Grant
	lookedAt time.Time
	// version is that of the grant's Secret, as it was found or written last. It is nil if there is none, or this process does not know.
	version *grantVersion
	// proxy is the address of the egress proxy, as it was found at the time proxyAt.
	proxy   string
	proxyAt time.Time
	// credentials are those of the run, by name, as they were read at the time readAt.
	credentials map[string]reading
	readAt      time.Time
	// reviews are the answers to whether a Secret may be used, by the credential's name.
	reviews map[string]review
	// choices are the answers to whether the requester may choose the hosts of a Secret, by the credential's name.
	choices map[string]choice
}

// reading is a credential's value, or why it cannot be used.
type reading struct {
	value   grant.Value
	problem error
}

// review is an answer of the API server about a right: nil if there is one.
type review struct {
	problem error
	at      time.Time
}

// choice is an answer of the API server about a right that is not needed in every case.
type choice struct {
	may bool
	at  time.Time
}

// runCache has the memories of all runs that are not over.
type runCache struct {
	mu    sync.Mutex
	byRun map[types.UID]*runMemory
}

// of returns the memory of a run, an empty one if there is none.
func (l *runCache) of(run *v1alpha1.MotorRun) *runMemory {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.byRun[run.UID]
	if st == nil {
		st = &runMemory{key: types.NamespacedName{Namespace: run.Namespace, Name: run.Name}, uid: run.UID}
		if l.byRun == nil {
			l.byRun = map[types.UID]*runMemory{}
		}
		l.byRun[run.UID] = st
	}
	return st
}

func (l *runCache) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byRun, uid)
}

// gone returns the memories of the runs of that name, none of which is there any more.
func (l *runCache) gone(key types.NamespacedName) []*runMemory {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*runMemory
	for _, st := range l.byRun {
		if st.key == key {
			list = append(list, st)
		}
	}
	return list
}
