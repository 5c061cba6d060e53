// SPDX-License-Identifier: Apache-2.0

// Package harvest reads and stores the files of a run: those that it saved, and its changes in its workspace.
package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/workpath"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// Timeout bounds how long it takes to read and store the files of a run that succeeded. FailedTimeout applies
	// after any other end: the sandbox may be what failed.
	Timeout       = 2 * time.Minute
	FailedTimeout = 10 * time.Second
	// waitedForTimeout applies while the next step is waited for: by a person for the run's question, while the time of an approval
	// runs, or by the model for the result of save_artifact. Files that it leaves out are collected at the end.
	waitedForTimeout = 20 * time.Second
	// maxArtifactMessage is the most characters of the message about a file that is not stored.
	maxArtifactMessage = 256
)

// ErrTime is the cause of the end of a collection that took too long.
var ErrTime = errors.New("the time to collect artifacts is over")

// Artifacts collects the files of a run: when its end is recorded, and whenever it waits for a person. The list comes
// from the sandbox and is not trusted: every file is read, and the record describes the bytes that were read.
//
//	list ─► for each: read ─► secret? ─► kept before? ─► ConfigMap or bucket ─► recorded with the step ─► what it replaces goes
//	diff of the workspace ─┘
type Artifacts struct {
	Env    *runenv.Env
	Client *toolclient.Client
	// Reachable reports whether the sandbox is known to be the run's.
	Reachable func() bool
	// Tainted is true if the files of the sandbox may come from the web, whatever the sandbox itself reports.
	Tainted bool
	// Recorded is the list in the journal, nil for none.
	Recorded *v1alpha1.ArtifactList
	// stored are names of ConfigMaps that were made and may not be in a recorded list.
	stored []string
	// waitedFor replaces waitedForTimeout in tests; 0 means waitedForTimeout.
	waitedFor time.Duration
}

// AfterLoop collects when the run waits for a person. The files of an ended attempt are collected after the end is recorded: see the last look of
// package attempt.
func (a *Artifacts) AfterLoop(ctx context.Context, out outcome.Outcome) error {
	if out.Kind == outcome.Awaiting {
		return a.atPause(ctx)
	}
	return nil
}

func (a *Artifacts) atPause(ctx context.Context) error {
	if !a.Reachable() {
		return nil
	}
	list, err := a.collectAll(ctx, a.waitedForTimeout())
	if list = a.News(list); err != nil || list == nil {
		return err
	}
	if err := a.Env.Entries.NoteArtifacts(ctx, list); err != nil {
		return err
	}
	a.Sweep(ctx, list)
	return nil
}

func (a *Artifacts) waitedForTimeout() time.Duration {
	return cmp.Or(a.waitedFor, waitedForTimeout)
}

// News returns the list, or nil if the list is empty and none was ever recorded.
func (a *Artifacts) News(list *v1alpha1.ArtifactList) *v1alpha1.ArtifactList {
	if a.Recorded == nil && list != nil && len(list.Files) == 0 && list.Omitted == 0 {
		return nil
	}
	return list
}

// collectAll collects for a run that goes on, whatever the result. A lost sandbox has nothing to collect from: the loss is
// detected when the run goes on, and the last recorded list remains.
func (a *Artifacts) collectAll(ctx context.Context, limit time.Duration) (*v1alpha1.ArtifactList, error) {
	list, err := a.Collect(ctx, limit)
	_, lost := errors.AsType[*outcome.Failure](err)
	if !lost && !errors.Is(err, ErrTime) {
		return list, err
	}
	a.Env.Log.Warn("the artifacts were not collected, or not all of them", "error", a.Env.Known.HideError(err))
	return list, nil
}

// Collect reads and stores the current files, nil if the run stores none. An error decides nothing: the collection can be repeated. With
// ErrTime there may be a list of the files that were not read in time.
func (a *Artifacts) Collect(ctx context.Context, limit time.Duration) (*v1alpha1.ArtifactList, error) {
	if !a.Env.Lease.MayDecide() {
		return nil, runenv.ErrNoLease
	}
	if runpolicy.KeepOf(a.Env.Run) == v1alpha1.KeepNothing {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTime)
	defer cancel()
	listed, err := a.Client.Artifacts(ctx)
	if IsOver(ctx) {
		return nil, ErrTime
	}
	if err != nil {
		return nil, a.Env.Classify(ctx, err)
	}
	files, omitted := a.plain(listed)
	list := &v1alpha1.ArtifactList{Omitted: omitted}
	room := a.newRoom()
	for i := range files {
		kept, err := a.keep(ctx, files[i], room)
		if err != nil {
			return nil, err
		}
		list.Files = append(list.Files, kept)
	}
	if err := a.addChanges(ctx, list, room); err != nil {
		return nil, err
	}
	if IsOver(ctx) {
		return list, ErrTime
	}
	return list, nil
}

// IsOver reports whether the time for a collection is over.
func IsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrTime) }

// maxOmitted bounds the tool server's count of further files: it is not trusted, and sums of it must not overflow.
const maxOmitted = 1 << 20

// plain returns the listed files with names that can be recorded, each once, in their order. omitted also counts the others.
func (a *Artifacts) plain(listed toolapi.Artifacts) (files []toolapi.ArtifactFile, omitted int32) {
	omitted = min(max(0, listed.Omitted), maxOmitted)
	shown := map[string]bool{}
	for _, f := range listed.Files {
		if !workpath.IsPlain(f.Path) {
			f.Path, f.Problem = workpath.Clean(f.Path), cmp.Or(f.Problem, toolapi.ProblemUnreadable)
		}
		// Two names can become equal when their secret parts are hidden, and a list has each name once.
		name := workpath.Clean(a.Env.Known.Hide(f.Path))
		if f.Path == "" || shown[name] {
			omitted++
			continue
		}
		shown[name] = true
		files = append(files, f)
	}
	slices.SortFunc(files, func(x, y toolapi.ArtifactFile) int { return strings.Compare(x.Path, y.Path) })
	return files, omitted
}

// keep reads and stores one file, or records why it does not.
func (a *Artifacts) keep(ctx context.Context, f toolapi.ArtifactFile, room *room) (v1alpha1.Artifact, error) {
	art := v1alpha1.Artifact{Path: f.Path, Size: max(0, f.Size)}
	if hidden := a.Env.Known.Hide(f.Path); hidden != f.Path {
		art.Path = workpath.Clean(hidden)
		return skipped(art, v1alpha1.SkippedSecretFound, "a credential is in its name"), nil
	}
	most := room.most()
	switch f.Problem {
	case "":
	case toolapi.ProblemNotRegular:
		return skipped(art, v1alpha1.SkippedNotRegular, ""), nil
	case toolapi.ProblemTooLarge:
		return room.tooLong(art), nil
	default:
		return skipped(art, v1alpha1.SkippedUnreadable, ""), nil
	}
	if art.Size > most {
		return room.tooLong(art), nil
	}
	kept, err := a.readAndStore(ctx, art, toolapi.ProvenanceWeb == f.Provenance, room)
	if err == nil {
		return kept, nil
	}
	return a.failed(ctx, art, room, err)
}

// failed records why a file is not stored, or returns the error if the file is not its cause.
func (a *Artifacts) failed(ctx context.Context, art v1alpha1.Artifact, room *room, err error) (v1alpha1.Artifact, error) {
	var found *redacting.Found
	var refused *notStored
	remote, isRemote := errors.AsType[*toolclient.RemoteError](err)
	switch {
	case errors.As(err, &found):
		return skipped(art, v1alpha1.SkippedSecretFound, found.Error()), nil
	case errors.As(err, &refused):
		return skipped(art, v1alpha1.SkippedNotStored, a.Env.Known.Hide(refused.Error())), nil
	case errors.Is(err, errChanged):
		return skipped(art, v1alpha1.SkippedUnreadable, "it kept changing while it was read"), nil
	case IsOver(ctx):
		return a.notInTime(art, room), nil
	case errors.Is(err, toolclient.ErrTooLong), isRemote && remote.Code == toolapi.ErrTooLarge:
		return room.tooLong(art), nil
	case isRemote && !errors.Is(err, toolclient.ErrStaleEpoch):
		return skipped(art, v1alpha1.SkippedUnreadable, a.Env.Known.Hide(remote.Message)), nil
	}
	return art, err
}

// notInTime returns the entry of a file that was not read in time. It is the earlier entry, if the file was stored before: otherwise the files
// that a slow sandbox left out would be removed. The entry counts against the limits, or the files of a run would grow with every pause.
func (a *Artifacts) notInTime(art v1alpha1.Artifact, room *room) v1alpha1.Artifact {
	former := a.recordedAs(art.Path)
	switch {
	case !room.lists(&former):
	case former.ConfigMapName != "" && room.inObject(former.Size):
		room.objects += former.Size
		room.listed += fit.ListedBytes(&former)
		return former
	case former.ObjectKey != "" && room.inBucket(former.Size):
		room.blobs += former.Size
		room.listed += fit.ListedBytes(&former)
		return former
	}
	return skipped(art, v1alpha1.SkippedUnreadable, "it could not be read and kept in time")
}

// skipped returns the entry of a file that is not stored.
func skipped(art v1alpha1.Artifact, why v1alpha1.ArtifactSkipped, message string) v1alpha1.Artifact {
	return v1alpha1.Artifact{Path: art.Path, Size: art.Size, Skipped: why, Message: cutMessage(message)}
}

func cutMessage(s string) string {
	return text.CutBytes(strings.ToValidUTF8(s, "\uFFFD"), maxArtifactMessage)
}

// Tools adds to the result of save_artifact that the file cannot be stored.
type Tools struct {
	motorloop.Tools
	Artifacts *Artifacts
}

// Call runs one tool call.
func (t Tools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err != nil || !r.OK || c.Tool != toolapi.ToolSaveArtifact {
		return r, err
	}
	return t.Artifacts.check(ctx, c.Arguments, r)
}

// explain returns the result for the model about a file that it saved and that cannot be stored.
func explain(art v1alpha1.Artifact) *toolapi.Result {
	const saved = "The file is noted, and what it holds at the end counts."
	switch art.Skipped {
	case v1alpha1.SkippedSecretFound:
		return toolapi.Refusal(toolapi.CodeSecretFound, fmt.Sprintf(
			"%s would not be kept: it holds what looks like a secret (%s). Take that out of it. %s", art.Path, art.Message, saved))
	case v1alpha1.SkippedTooLarge:
		return toolapi.Refusal(toolapi.CodeTooLarge, fmt.Sprintf("%s would not be kept: %s. Make it smaller, or split it. %s", art.Path, art.Message, saved))
	default:
		return nil
	}
}
