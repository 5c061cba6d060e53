// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/secretscan"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// overlap is how much of a part of a file is looked at again with the next one: more than any value that matters takes.
const overlap = 64 << 10

// secretFound says that a file has a secret in it. It has nothing of the secret.
type secretFound struct {
	rule string
	// line is where, 0 if that is not known.
	line int
}

func (e *secretFound) Error() string {
	if e.line == 0 {
		return e.rule
	}
	return fmt.Sprintf("%s, line %d", e.rule, e.line)
}

// ruleCredential is the rule of what the run's loop keeps hidden.
const ruleCredential = "credential"

// secretWatch takes no text with a secret in it: what the loop keeps hidden and, with rules, what looks like a secret.
type secretWatch struct {
	known *redacting.Secrets
	rules bool
	// name is the path of the file.
	name string
	// last is the end of what came, before are the lines before it.
	last   []byte
	before int
}

// Write implements io.Writer.
func (w *secretWatch) Write(p []byte) (int, error) {
	text := slices.Concat(w.last, p)
	if w.known.Contains(text) {
		return 0, &secretFound{rule: ruleCredential}
	}
	if w.rules {
		if found := secretscan.Scan(w.name, text); len(found) > 0 {
			return 0, &secretFound{rule: found[0].RuleID, line: w.before + found[0].Line}
		}
	}
	done := max(0, len(text)-overlap)
	w.before += bytes.Count(text[:done], []byte("\n"))
	w.last = bytes.Clone(text[done:])
	return len(p), nil
}

// reading is what was read of a file.
type reading struct {
	size              int64
	sha256, mediaType string
	// content is nil of a file that is too large for an object.
	content []byte
}

// beginning keeps the first bytes that are written to it, as many as an object holds and one more.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), maxObjectBytes+1-b.Len()))])
	return len(p), nil
}

// read reads a file of at most so many bytes.
func (a *artifacts) read(ctx context.Context, path string, most int64) (*reading, error) {
	sum, start := sha256.New(), &beginning{}
	watch := &secretWatch{known: a.env.Known, name: path}
	size, err := a.client.ReadArtifact(ctx, path, io.MultiWriter(watch, sum, start), most)
	if err != nil {
		return nil, a.readError(ctx, err)
	}
	r := &reading{size: size, sha256: hex.EncodeToString(sum.Sum(nil)), mediaType: toolapi.MediaType(path, start.Bytes())}
	if size <= maxObjectBytes {
		r.content = append([]byte{}, start.Bytes()...)
	}
	return r, nil
}

// readError leaves what is wrong with a file as it is, and makes what is wrong with the sandbox what the loop knows.
func (a *artifacts) readError(ctx context.Context, err error) error {
	var found *secretFound
	_, remote := toolclient.RemoteProblem(err)
	if errors.As(err, &found) || errors.Is(err, toolclient.ErrTooLong) || errors.Is(err, errChanged) || remote {
		return err
	}
	return a.env.Classify(ctx, err)
}

// check looks whether what a save_artifact call saved could be kept as it is now. If it could not, the model is told while it
// can still do something about it. If that cannot be told in time, nothing is said.
func (a *artifacts) check(ctx context.Context, arguments json.RawMessage, r toolapi.Result) (toolapi.Result, error) {
	var args toolapi.SaveArtifactArgs
	if err := json.Unmarshal(arguments, &args); err != nil {
		return r, nil // The sandbox understood it, and nothing was promised.
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.waitedForTimeout(), errCollectTime)
	defer cancel()
	room := a.newRoom()
	watch := &secretWatch{known: a.env.Known, rules: true, name: args.Path}
	if _, err := a.client.ReadArtifact(ctx, args.Path, watch, room.most()); err != nil {
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
