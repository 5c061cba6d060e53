// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// changesMargin is the part of a collection's time that is reserved to transfer and store the diff.
const changesMargin = 3 * time.Second

// addChanges adds the changes in the workspace to the list, as toolapi.DiffName. They come after the files that the model saved, and
// use the remaining limits.
func (a *Artifacts) addChanges(ctx context.Context, list *v1alpha1.ArtifactList, room *room) error {
	if runpolicy.KeepOf(a.Env.Run) != v1alpha1.KeepChanges {
		return nil
	}
	byPath := func(f v1alpha1.Artifact, path string) int { return strings.Compare(f.Path, path) }
	at, taken := slices.BinarySearchFunc(list.Files, toolapi.DiffName, byPath)
	if taken {
		// A tool server of this release saves no file under that name.
		a.Env.Log.Warn("the changes in the workspace are not kept: the sandbox lists another file under their name", "name", toolapi.DiffName)
		return nil
	}
	art, err := a.changes(ctx, room)
	if err == nil && art != nil {
		list.Files = slices.Insert(list.Files, at, *art)
	}
	return err
}

// changes reads and stores the diff of the workspace, nil if there is none.
func (a *Artifacts) changes(ctx context.Context, room *room) (*v1alpha1.Artifact, error) {
	art := v1alpha1.Artifact{Path: toolapi.DiffName}
	if !a.Client.Peer().Serves(http.MethodPost, toolapi.PathChanges) {
		a.Env.Log.Warn("the changes in the workspace are not kept: the sandbox was made by an earlier release, which cannot tell them")
		return nil, nil
	}
	if IsOver(ctx) {
		art = a.notInTime(art, room)
		return &art, nil
	}
	found, err := a.Client.Changes(ctx, toolapi.ChangesRequest{Files: verdict.FinishedFiles(a.Env.Entries.Turns()), TimeoutMs: changesTimeout(ctx)})
	switch {
	case errors.Is(err, toolclient.ErrBadAnswer):
		art = skipped(art, v1alpha1.SkippedUnreadable, "the sandbox gave something else than a diff")
		return &art, nil
	case err != nil:
		art, err = a.failed(ctx, art, room, a.readError(ctx, err))
		return &art, err
	case len(found.Diff) == 0:
		return a.nothingShown(art, found), nil
	}
	art, err = a.storeChanges(ctx, art, found, room)
	if err != nil {
		art, err = a.failed(ctx, art, room, err)
	}
	return &art, err
}

// changesTimeout returns how long the sandbox may take for the diff, in milliseconds.
func changesTimeout(ctx context.Context) int32 {
	most := int32(toolapi.MaxChangesTimeoutMs)
	if at, ok := ctx.Deadline(); ok {
		most = int32(min(int64(most), (time.Until(at) - changesMargin).Milliseconds()))
	}
	return max(most, 1000)
}

// nothingShown returns the entry for changes of which none can be shown, nil if there are none.
func (a *Artifacts) nothingShown(art v1alpha1.Artifact, found toolapi.Changes) *v1alpha1.Artifact {
	if len(found.LeftOut) == 0 {
		return nil
	}
	first := found.LeftOut[0]
	said := text.Printable(a.Env.Known.Hide(fmt.Sprintf("%s: %s", text.CutBytes(first.Path, maxArtifactMessage/2), first.Why)))
	if more := len(found.LeftOut) - 1 + int(min(found.Omitted, maxOmitted)); more > 0 {
		said = fmt.Sprintf("%d more, and %s", more, said)
	}
	art = skipped(art, v1alpha1.SkippedUnreadable, "nothing of what changed can be shown: "+said)
	return &art
}

// storeChanges stores a diff unchanged, in an object of its own.
func (a *Artifacts) storeChanges(ctx context.Context, art v1alpha1.Artifact, found toolapi.Changes, room *room) (v1alpha1.Artifact, error) {
	art.Size = int64(len(found.Diff))
	if !room.inObject(art.Size) {
		return skipped(art, v1alpha1.SkippedLimitReached, fmt.Sprintf("the files of a run may have %d MiB in objects", maxObjectsBytes>>20)), nil
	}
	art.MediaType, art.SHA256 = toolapi.MediaType(art.Path, found.Diff), toolapi.SHA256(found.Diff)
	art.Provenance = string(toolapi.ProvenanceInternal)
	if found.Provenance == toolapi.ProvenanceWeb || room.web {
		art.Provenance = string(toolapi.ProvenanceWeb)
	}
	stored := art
	if err := a.store(ctx, &stored, &reading{size: art.Size, sha256: art.SHA256, mediaType: art.MediaType, content: found.Diff}, room); err != nil {
		return v1alpha1.Artifact{Path: art.Path, Size: art.Size}, err
	}
	return stored, nil
}

// secretIn returns a *redacting.Found if there is a secret in the content of an artifact. It scans the files of a diff one by one,
// as the tool server does, and also packed content. Content that cannot be unpacked does not count as harmless.
func (a *Artifacts) secretIn(ctx context.Context, path string, content []byte) error {
	if path != toolapi.DiffName {
		_, err := (&redacting.Watch{Known: a.Env.Known, Rules: true, Name: path}).Write(content)
		return err
	}
	if a.Env.Known.Contains(content) {
		return &redacting.Found{Rule: redacting.RuleCredential}
	}
	deadline, _ := ctx.Deadline()
	found := secretscan.InDiff(deadline, content)
	if len(found) == 0 {
		// Neither scan can see into packed content. The sandbox may have packed a text.
		found = secretscan.InPackedDiff(deadline, content, redacting.RuleCredential, a.Env.Known.Contains)
	}
	if len(found) > 0 {
		return &redacting.Found{Rule: found[0].RuleID, Line: found[0].Line}
	}
	return nil
}
