// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// objects are the run, and what its person does to it.
type objects interface {
	getter
	Patch(ctx context.Context, kind, name, patchType string, patch any) error
	Exec(ctx context.Context, stdin io.Reader, pod, container string, argv ...string) ([]byte, error)
}

const (
	motorrun     = "motorrun"
	snapshotTime = 20 * time.Second
	// endTime is how long a run that was cancelled may take to end, with the last look at its workspace.
	endTime = 4 * time.Minute
)

// player is the person of one run.
type player struct {
	objects objects
	task    *task.Task
	poll    time.Duration
	// within is how long the run may take in all. Then it is cancelled.
	within time.Duration
}

// played is what became of a run.
type played struct {
	run   motorRun
	asked []task.Question
	// sandbox is the workspace as it was last seen; nil if it was not.
	sandbox tree.Tree
}

// play replies to what the run asks until it has finished.
func (p player) play(ctx context.Context) (played, error) {
	ticker := time.NewTicker(p.poll)
	defer ticker.Stop()
	var got played
	replied := map[string]bool{}
	deadline, cancelled := time.Now().Add(p.within), false
	for {
		got.run = motorRun{}
		if err := p.objects.Get(ctx, motorrun, p.task.Name, &got.run); err != nil {
			return got, err
		}
		if got.run.finished() {
			return got, nil
		}
		for _, pending := range got.run.Status.Pending {
			if replied[pending.ID] {
				continue
			}
			reply := p.task.Persona.Reply(pending.question())
			if err := p.reply(ctx, pending, reply); err != nil {
				return got, err
			}
			replied[pending.ID] = true
			got.asked = append(got.asked, reply)
		}
		p.look(ctx, &got)
		switch late := time.Now().After(deadline); {
		case late && cancelled:
			return got, fmt.Errorf("the run %s did not end within %v of its cancellation", p.task.Name, endTime)
		case late:
			if err := p.objects.Patch(ctx, motorrun, p.task.Name, "merge", cluster.Object{"spec": cluster.Object{"cancel": true}}); err != nil {
				return got, err
			}
			deadline, cancelled = time.Now().Add(endTime), true
		}
		select {
		case <-ctx.Done():
			return got, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// reply adds the reply to spec.responses. The first one makes the list.
func (p player) reply(ctx context.Context, pending pendingInput, reply task.Question) error {
	entry := response(pending, reply)
	err := p.objects.Patch(ctx, motorrun, p.task.Name, "json", []any{cluster.Object{"op": "add", "path": "/spec/responses/-", "value": entry}})
	if err != nil {
		return fmt.Errorf("reply to %s of %s: %w", pending.ID, p.task.Name, err)
	}
	return nil
}

// look keeps the workspace as it is in the sandbox, so that work that does not reach the person can be told from work that was not done.
// A sandbox that cannot be looked into says nothing: the last look stands.
func (p player) look(ctx context.Context, got *played) {
	sandbox := got.run.Status.Sandbox
	if status, _ := got.run.condition("SandboxReady"); status != "True" || sandbox == nil || sandbox.PodName == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	seen, err := snapshot(ctx, p.objects, sandbox.PodName, "toolserver")
	if err == nil {
		got.sandbox = seen
	}
}

type execer interface {
	Exec(ctx context.Context, stdin io.Reader, pod, container string, argv ...string) ([]byte, error)
}

var errNoArchive = errors.New("the sandbox gave no archive")

// snapshot reads the workspace of a Pod. A file that changes under tar makes its status 1, and the archive is whole all the same.
func snapshot(ctx context.Context, e execer, pod, container string) (tree.Tree, error) {
	archive, err := e.Exec(ctx, nil, pod, container, "tar", "-C", "/workspace", "--exclude=./.motor", "--exclude=./.git", "-cf", "-", ".")
	if len(archive) == 0 {
		return nil, errors.Join(errNoArchive, err)
	}
	return tree.FromTar(bytes.NewReader(archive))
}
