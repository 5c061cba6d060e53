// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// reading is the result of reading a file.
type reading struct {
	size              int64
	sha256, mediaType string
	// content is nil for a file that is too large for an object.
	content []byte
}

// beginning retains the first bytes that are written to it, as many as an object holds and one more.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), maxObjectBytes+1-b.Len()))])
	return len(p), nil
}

// read reads a file of at most so many bytes.
func (a *Artifacts) read(ctx context.Context, path string, most int64) (*reading, error) {
	sum, start := sha256.New(), &beginning{}
	watch := &redacting.Watch{Known: a.Env.Known, Name: path}
	size, err := a.Client.ReadArtifact(ctx, path, io.MultiWriter(watch, sum, start), most)
	if err != nil {
		return nil, a.readError(ctx, err)
	}
	r := &reading{size: size, sha256: hex.EncodeToString(sum.Sum(nil)), mediaType: toolapi.MediaType(path, start.Bytes())}
	if size <= maxObjectBytes {
		r.content = append([]byte{}, start.Bytes()...)
	}
	return r, nil
}

// readError returns a problem of the file unchanged, and maps a problem of the sandbox to an error of the loop.
func (a *Artifacts) readError(ctx context.Context, err error) error {
	var found *redacting.Found
	_, remote := toolclient.RemoteProblem(err)
	if errors.As(err, &found) || errors.Is(err, toolclient.ErrTooLong) || errors.Is(err, errChanged) || remote {
		return err
	}
	return a.Env.Classify(ctx, err)
}

// check determines whether the file of a save_artifact call could be stored in its current state. If it could not, the model learns of it
// while it can still react. If that takes too long, check adds nothing.
func (a *Artifacts) check(ctx context.Context, arguments json.RawMessage, r toolapi.Result) (toolapi.Result, error) {
	var args toolapi.SaveArtifactArgs
	if err := json.Unmarshal(arguments, &args); err != nil {
		return r, nil // The sandbox understood it, and nothing was promised.
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.waitedForTimeout(), ErrTime)
	defer cancel()
	room := a.newRoom()
	watch := &redacting.Watch{Known: a.Env.Known, Rules: true, Name: args.Path}
	if _, err := a.Client.ReadArtifact(ctx, args.Path, watch, room.most()); err != nil {
		art, err := a.failed(ctx, v1alpha1.Artifact{Path: args.Path}, room, a.readError(ctx, err))
		if err != nil {
			return toolapi.Result{}, err
		}
		if res := explain(art); res != nil {
			return *res, nil
		}
	}
	return r, nil
}
