// SPDX-License-Identifier: Apache-2.0

// Package runenv provides the parts of an attempt with what they need of their replica and their run.
package runenv

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/fairsemaphore"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/journal"
)

// Env is the shared environment of the parts of an attempt.
type Env struct {
	Client client.Client
	// Live reads past the cache: the journal must be complete.
	Live client.Reader
	// Bucket stores artifacts that are too large for objects; if it is nil, they are not stored.
	Bucket Bucket
	Lease  Lease
	Clock
	Limits *Limits

	Run *v1alpha1.MotorRun
	// Claim is the one under which this replica carries the run on.
	Claim journal.Claim
	// Entries is the journal of the run.
	Entries *journal.Log
	// Known are the values that must be hidden.
	Known *redacting.Secrets
	// Absence is the absence of a dependency of the run.
	Absence *Absence
	Log     *slog.Logger
}

// Lease is the Lease of this replica.
type Lease interface {
	// MayDecide reports whether this replica may decide now how a run goes on. A process that was frozen can ask before its loops are ended.
	MayDecide() bool
}

// ErrNoLease reports that nothing may be decided, because others may carry the run on.
var ErrNoLease = errors.New("this replica has no Lease")

// Bucket stores the artifacts that are too large for objects.
type Bucket interface {
	// WriteArtifact stores the output of fill, all of it or nothing. It returns an error of fill unchanged. The error wraps
	// archive.ErrExists if the key exists.
	WriteArtifact(ctx context.Context, key string, fill func(io.Writer) error) error
	// Read opens the object under the key. The error wraps archive.ErrNotFound if there is none.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
}

// ContentKey is the key of an artifact's content in its ConfigMap.
const ContentKey = "content"

// ValueOf returns the value of a key of a ConfigMap, whether it is text in data or other content in binaryData, and whether there is one.
func ValueOf(cm *corev1.ConfigMap, key string) (value []byte, ok bool) {
	if text, ok := cm.Data[key]; ok {
		return []byte(text), true
	}
	value, ok = cm.BinaryData[key]
	return value, ok
}

const (
	// MaxSeeding is how many loops put files of skills into their sandboxes at the same time. Each holds one file and one ConfigMap meanwhile.
	MaxSeeding = 8
	// MaxCollecting is how many loops read a skill or packages from their sandboxes and store them at the same time. Each holds the
	// files of one, skill.MaxTotalBytes at most, or an archive, toolapi.MaxPackedBytes at most.
	MaxCollecting = 4
)

// Limits bound the concurrent work of the loops of a replica.
type Limits struct {
	// Seeding and Collecting bound how many loops have files of skills in memory. NewSkills serializes the creation of Skills.
	Seeding, Collecting, NewSkills fairsemaphore.Semaphore
}

// maxHeld is how long a loop may hold a permit. Its work waits for the sandbox, which can be slow on purpose, while the runs of
// others wait for the permit. The largest skill and the largest archive take seconds.
const maxHeld = time.Minute

// ErrTimeOver is the cause of the end of work that took too long.
var ErrTimeOver = errors.New("the time for it is over")

// Acquire waits for a permit, for as long as the run may wait. The work under the permit may take maxHeld, which bounds the context held.
func (e *Env) Acquire(ctx context.Context, s *fairsemaphore.Semaphore, permits int) (held context.Context, release func(), err error) {
	giveBack, err := s.Acquire(ctx, e.Run.Namespace, permits)
	if err != nil {
		return nil, nil, err
	}
	if !e.Lease.MayDecide() {
		// The process was frozen while it waited.
		giveBack()
		return nil, nil, ErrNoLease
	}
	held, cancel := context.WithTimeoutCause(ctx, maxHeld, ErrTimeOver)
	return held, func() { cancel(); giveBack() }, nil
}
