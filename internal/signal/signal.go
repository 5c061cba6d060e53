// SPDX-License-Identifier: Apache-2.0

// Package signal decides which signals follow from the state of a run or a skill. It does no I/O.
//
// A signal follows from what the API server has, and from a cursor: what its receiver was told before. So signals need no store. The cursor may be
// lost: then signals are told again, under the ids that they had.
package signal

import (
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// typePrefix begins the type of every signal.
const typePrefix = "dev.motorcortex."

// Signal is one CloudEvent.
type Signal struct {
	Event v1alpha1.SignalEvent
	// ID follows from the UID of the object and from what happened to it, so that a receiver can drop a signal that it was told before.
	ID string
	// Source is the kind and the namespace of the object, Subject its name.
	Source, Subject string
	// Time is when it happened.
	Time time.Time
	// Data is a *Result, a *SkillData or a *Digest.
	Data any
}

// Type returns the type of a CloudEvent, as in dev.motorcortex.run.awaitinginput.
func Type(e v1alpha1.SignalEvent) string {
	for _, kind := range []string{"Run", "Skill"} {
		if rest, ok := strings.CutPrefix(string(e), kind); ok {
			return typePrefix + strings.ToLower(kind) + "." + strings.ToLower(rest)
		}
	}
	return typePrefix + strings.ToLower(string(e))
}

func source(namespace, resource string) string {
	return "/apis/" + v1alpha1.GroupVersion.Group + "/namespaces/" + namespace + "/" + resource
}

// id returns the id of a signal. The type is part of it.
func id(uid string, e v1alpha1.SignalEvent, what ...string) string {
	return strings.Join(append([]string{uid, strings.TrimPrefix(Type(e), typePrefix)}, what...), "/")
}
