// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	oneshotUsage = `"language" (javascript or python), "source" and "timeoutMs"`

	minOneshot = 100 * time.Millisecond
	maxOneshot = 5 * time.Second
	// maxOneshotNetwork is for code that waits for hosts.
	maxOneshotNetwork = 30 * time.Second
	// maxOneshotMessage is the most of an error's text, in bytes.
	maxOneshotMessage = 2 << 10
)

// oneshot runs the code of a Oneshot run. Its output is a OneshotResult in every case.
func (p *Runner) oneshot(ctx context.Context, j tool.Job) toolapi.Result {
	return p.oneshotWithin(ctx, j, maxOneshot, nil)
}

// oneshotNetwork is oneshot for code that may use the way out.
func (p *Runner) oneshotNetwork(ctx context.Context, j tool.Job) toolapi.Result {
	way, err := p.Egress.Variables()
	if err != nil {
		p.log.Error("the certificates for the program cannot be written", "id", j.ID, "error", err)
	}
	r := p.oneshotWithin(ctx, j, maxOneshotNetwork, way)
	r.Provenance = toolapi.ProvenanceWeb
	return r
}

// oneshotWithin runs the code with these variables beside its own.
func (p *Runner) oneshotWithin(ctx context.Context, j tool.Job, most time.Duration, env []string) toolapi.Result {
	began := time.Now()
	end, console, timeout, bad := p.runOneshot(ctx, j, most, env)
	if bad == nil {
		return oneshotResult(end, timeout, time.Since(began), console, j.Limit)
	}
	bad.SetParts(fitOneshot(toolapi.OneshotResult{Error: &toolapi.OneshotError{Code: toolapi.ExecutionError, Message: bad.Output}}, j.Limit), "")
	return *bad
}

// runOneshot runs a program that has nothing but itself: its folder is empty and is removed with it, and it knows of no way
// out but by env.
func (p *Runner) runOneshot(ctx context.Context, j tool.Job, most time.Duration, env []string) (end Ending, console *boundedText, timeout time.Duration, bad *toolapi.Result) {
	var args toolapi.OneshotArgs
	if bad = tool.Decode(j.Args, &args, oneshotUsage); bad != nil {
		return end, nil, 0, bad
	}
	refuse := func(r toolapi.Result) (Ending, *boundedText, time.Duration, *toolapi.Result) { return end, nil, 0, &r }
	timeout = time.Duration(args.TimeoutMs) * time.Millisecond
	if timeout < minOneshot || timeout > most {
		return refuse(tool.Failure(toolapi.CodeInvalidArguments, "timeoutMs is %d and may be %d to %d.",
			args.TimeoutMs, minOneshot.Milliseconds(), most.Milliseconds()))
	}
	prog, clear, bad := p.sourceProgram(j, args.Language, args.Source)
	if bad != nil {
		return end, nil, 0, bad
	}
	defer clear()
	exe, err := p.Find(prog.Name)
	if err != nil {
		return refuse(missing(prog.Name))
	}
	temp := p.Egress.Temp
	local := path.Join(workspace.OwnDir, "oneshot-"+j.ID)
	if err := temp.Root.MkdirAll(local, 0o700); err != nil {
		return refuse(temp.Failure("make the folder", local, err))
	}
	defer func() { _ = temp.Root.RemoveAll(local) }() // Remains only take space.
	prog.Dir, prog.Timeout = filepath.Join(temp.Dir, local), timeout
	prog.Env = append([]string{"PATH=" + strings.Join(p.path, ":"), "HOME=" + prog.Dir, "TMPDIR=" + prog.Dir, "LANG=C.UTF-8"}, env...)
	if args.Language == toolapi.LanguagePython { // Output must not be lost in Python's buffer when it is killed.
		prog.Args = slices.Concat([]string{"-u", "-B"}, prog.Args)
	}
	console = &boundedText{limit: toolapi.MaxOneshotBytes}
	if end, err = p.Execute(ctx, exe, prog, console); err != nil {
		return refuse(StartFailure(prog.Name, err))
	}
	return end, console, timeout, nil
}

// oneshotResult makes the result of how the program ended.
func oneshotResult(end Ending, timeout, took time.Duration, console *boundedText, limit int) toolapi.Result {
	value, failed := end.told.last()
	shown := toolapi.OneshotResult{Console: string(console.text), Truncated: console.cut, DurationMs: max(1, took.Milliseconds())}
	result := toolapi.Result{Provenance: toolapi.ProvenanceInternal}
	fail := func(code, kind, format string, args ...any) {
		result.ErrorCode = code
		shown.Error = &toolapi.OneshotError{Code: kind, Message: plaintext.Bound(fmt.Sprintf(format, args...), maxOneshotMessage)}
	}
	switch status := end.Status; {
	case errors.Is(end.cause, tool.ErrCancelled):
		fail(toolapi.CodeCancelled, toolapi.ExecutionError, "the call was cancelled")
	case errors.Is(end.cause, tool.ErrStopped):
		fail(toolapi.CodeKilled, toolapi.ExecutionError, "the tool server was stopped")
	case end.cause != nil && !status.Exited():
		fail(toolapi.CodeExecutionTimeout, toolapi.ExecutionTimeout, "the program was killed after %d ms", timeout.Milliseconds())
	case status.Exited() && status.ExitStatus() == 0 && value != nil && value.Kind == toldText:
		fail(toolapi.CodeExecutionError, toolapi.ExecutionError, "the value is none that JSON has: %s", plaintext.Bound(value.Text, maxOneshotMessage/2))
	case status.Exited() && status.ExitStatus() == 0:
		result.OK, shown.OK = true, true
	case failed != nil:
		fail(toolapi.CodeExecutionError, toolapi.ExecutionError, "%s", failed.message())
	case status.Exited():
		fail(toolapi.CodeExecutionError, toolapi.ExecutionError, "the program ended with exit status %d", status.ExitStatus())
	default:
		fail(toolapi.CodeExecutionError, toolapi.ExecutionError, "the program was killed by signal %d (%v), perhaps for want of memory",
			status.Signal(), status.Signal())
	}
	if shown.OK && value != nil && value.Kind == toldJSON {
		shown.Value = json.RawMessage(value.Text)
		if value.Cut || len(encodeOneshot(toolapi.OneshotResult{OK: true, Value: shown.Value, DurationMs: shown.DurationMs, Truncated: true})) > limit {
			// A part of a JSON value is none.
			shown.Value, shown.Head, shown.Truncated = nil, plaintext.First(plaintext.Clean(value.Text), toolapi.MaxOneshotHead), true
		}
	}
	result.Output = fitOneshot(shown, limit)
	return result
}

// fitOneshot encodes a result in at most limit bytes, with less of the console if need be.
func fitOneshot(shown toolapi.OneshotResult, limit int) string {
	text := encodeOneshot(shown)
	console := shown.Console
	for most := len(console); len(text) > limit && shown.Console != ""; text = encodeOneshot(shown) {
		most = max(0, most-max(1, (len(text)-limit)/6)) // A byte of text takes up to six of JSON.
		shown.Console, shown.Truncated = plaintext.First(console, most), true
	}
	return text
}

// encodeOneshot returns a result as JSON without control characters, which an Output has none of.
func encodeOneshot(shown toolapi.OneshotResult) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shown); err != nil {
		shown.Value, shown.Truncated = nil, true // Nothing else can fail.
		return encodeOneshot(shown)
	}
	var safe strings.Builder
	for _, r := range strings.TrimSuffix(text.String(), "\n") {
		if unicode.IsControl(r) {
			fmt.Fprintf(&safe, "\\u%04x", r)
		} else {
			safe.WriteRune(r)
		}
	}
	return safe.String()
}

// boundedText keeps the beginning of a clean text.
type boundedText struct {
	limit int
	text  []byte
	cut   bool
}

// Write takes in all of p and never fails.
func (b *boundedText) Write(p []byte) (int, error) {
	if !b.cut {
		kept := plaintext.First(string(p), b.limit-len(b.text))
		b.text = append(b.text, kept...)
		b.cut = len(kept) < len(p)
	}
	return len(p), nil
}
