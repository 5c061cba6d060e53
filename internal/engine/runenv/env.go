// SPDX-License-Identifier: Apache-2.0

// Package runenv has what the parts of an attempt need of the replica that makes it, and of its run.
package runenv

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/fairsemaphore"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/journal"
)

// Env is what the parts of an attempt share.
type Env struct {
	Client client.Client
	// Live reads past the cache: the journal must be complete.
	Live client.Reader
	// Bucket keeps what is too large for objects; nil keeps nothing of that.
	Bucket Bucket
	Lease  Lease
	Clock
	Limits *Limits

	Run *v1alpha1.MotorRun
	// Claim is the one under which this replica carries the run on.
	Claim journal.Claim
	// Entries is the journal of the run.
	Entries *journal.Log
	// Known are the values that must be shown to nobody.
	Known *redacting.Secrets
	// Absence is that of something that the run needs.
	Absence *Absence
	Log     *slog.Logger
}

// Lease is this replica's.
type Lease interface {
	// MayDecide reports whether this replica may decide now how a run goes on. A process that was frozen can ask before its loops are ended.
	MayDecide() bool
}

// ErrNoLease says that nothing may be decided, because others may carry the run on.
var ErrNoLease = errors.New("this replica has no Lease")

// Bucket keeps the artifacts that are too large for objects.
type Bucket interface {
	// WriteArtifact stores what fill writes, all of it or nothing. An error of fill is given back as it is. The error wraps
	// archive.ErrExists if there is something under the key.
	WriteArtifact(ctx context.Context, key string, fill func(io.Writer) error) error
	// Read opens what is stored under the key. The error wraps archive.ErrNotFound if there is nothing.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
}

// ContentKey is the key of the ConfigMap that keeps an artifact.
const ContentKey = "content"

const (
	// MaxSeeding is how many loops put files of skills into their sandboxes at the same time. Each holds one file and one ConfigMap meanwhile.
	MaxSeeding = 8
	// MaxCollecting is how many loops read a skill or packages from their sandboxes and store them at the same time. Each holds the
	// files of one, skill.MaxTotalBytes at most, or an archive, toolapi.MaxPackedBytes at most.
	MaxCollecting = 4
)

// Limits bound what the loops of a replica do at the same time.
type Limits struct {
	// Seeding and Collecting bound how many loops hold files of skills, NewSkills has them make Skills one after the other.
	Seeding, Collecting, NewSkills fairsemaphore.Semaphore
}

// maxHeld is how long a loop may keep a permit: what is done with it waits for the sandbox, which can drip, while the runs of
// others wait for the permit. The largest skill and the largest archive take seconds.
const maxHeld = time.Minute

// ErrTimeOver is the cause of the end of what took too long.
var ErrTimeOver = errors.New("the time for it is over")

// Acquire waits for a permit, for as long as the run may wait. What is done with it has maxHeld, which is the time of held.
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
