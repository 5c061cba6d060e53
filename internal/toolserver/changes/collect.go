// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// MaxFileBytes is the most that a file has whose changes are shown, maxBinaryBytes one that is no text or was none.
	MaxFileBytes   = MaxGivenBytes
	maxBinaryBytes = secretscan.MaxPackedBytes
	// maxReadBytes is how many bytes are read of all files together.
	maxReadBytes = 512 << 20
)

var (
	// ErrLink is the error of a Workspace for a path with a symbolic link in it.
	ErrLink = errors.New("a symbolic link")
	// ErrNotRegular is its error for a path that is not a regular file.
	ErrNotRegular = errors.New("no regular file")

	errTooLarge = errors.New("the file is too large")
)

// Request is the input of a comparison.
type Request struct {
	Workspace Workspace
	// Given is the initial content of the workspace.
	Given *Baseline
	// Named are paths that the model named as its result.
	Named []string
	// Own are folders and files that are kept in another way, or belong to the tool server.
	Own []string
	// Holds reports whether a text has a value that programs received.
	Holds func(text []byte) bool
}

// Result is what changed.
type Result struct {
	// Diff is empty if no change can be shown.
	Diff []byte
	// LeftOut are the omitted files, the most important first.
	LeftOut []LeftOut
}

// Collect compares the workspace with the given files. Files that it has no time for are omitted and reported. The same workspace produces
// the same diff.
func Collect(ctx context.Context, req Request) Result {
	c := &collection{Request: req, room: toolapi.MaxDiffBytes - maxHead, left: maxReadBytes, packable: secretscan.MaxPackedTotal}
	given := req.Given.Files()
	for _, one := range candidates(ctx, req.Workspace, given, req.Named, newIgnores(given, req.Own), &c.report) {
		section, why := c.section(ctx, one)
		if why == "" {
			why = c.unfit(ctx, one.path, section)
		}
		if why != "" && c.deletion != nil {
			// The deletion of a file can be reported without any of its lines.
			section = c.deletion
			why = c.unfit(ctx, one.path, section)
		}
		switch {
		case why != "":
			c.report.leave(one.rank, one.path, why)
		case len(section) > 0:
			c.room, c.packable = c.room-len(section), c.packable-len(c.packed)
			c.sections = append(c.sections, changed{one.path, section})
		}
	}
	return c.result(ctx)
}

// changed is what became of one file.
type changed struct {
	path    string
	section []byte
}

// collection is one comparison.
type collection struct {
	Request
	report   report
	sections []changed
	// room is how many bytes further sections may have, left how many may be read.
	room, left int
	// packable is how many bytes further sections may have packed: readers of the diff have bounds, too.
	packable int
	// packed is the content of the file at hand if its section packs it, deletion its section without its content if it is gone.
	packed, deletion []byte
}

// result writes the diff by the paths of its files.
func (c *collection) result(ctx context.Context) Result {
	if len(c.sections) == 0 {
		return Result{LeftOut: c.report.all()}
	}
	slices.SortFunc(c.sections, func(x, y changed) int { return strings.Compare(x.path, y.path) })
	head := c.report.head(true)
	if c.Holds(head) || len(secretscan.InDiff(deadline(ctx), head)) > 0 {
		// A name may be a value that must not be shown.
		head = c.report.head(false)
	}
	diff := bytes.NewBuffer(head)
	for _, s := range c.sections {
		diff.Write(s.section)
	}
	return Result{Diff: diff.Bytes(), LeftOut: c.report.all()}
}

// section is what became of a file, nil if nothing did, or why that cannot be shown.
func (c *collection) section(ctx context.Context, one *candidate) (section []byte, why string) {
	c.packed, c.deletion = nil, nil
	switch {
	case ctx.Err() != nil:
		return nil, whyTime
	case c.left <= 0:
		return nil, whyManyBytes
	case one.given != nil && !one.given.Whole:
		return c.unkept(ctx, one)
	}
	// A new file that was removed since the walk is ignored, and a given one counts as deleted.
	after, err := c.read(ctx, one.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(ctx, err, one.size)
	}
	before, err := c.before(one.given)
	if err != nil {
		return nil, whyUnreadable
	}
	return c.write(one.path, before, after)
}

// write writes the section if there is a difference that can be shown.
func (c *collection) write(path string, before, after *side) (section []byte, why string) {
	switch {
	case before == nil && after == nil:
		return nil, ""
	case before != nil && after != nil && before.executable == after.executable && bytes.Equal(before.content, after.content):
		return nil, ""
	case gitRefuses(path):
		return nil, whyName
	case after != nil && packs(before, after):
		if len(after.content) > maxBinaryBytes {
			return nil, tooLarge(int64(len(after.content)), "one that is or was no text", maxBinaryBytes)
		}
		if len(after.content) > c.packable {
			return nil, whyManyPacked
		}
		c.packed = after.content
	}
	if c.Holds([]byte(path)) || c.Holds(after.bytes()) {
		return nil, whyValue
	}
	if after == nil {
		c.deletion = writeDeletion(path, before)
	}
	return writeSection(path, before, after), ""
}

// before is the given content, nil for a file that was not given.
func (c *collection) before(g *Given) (*side, error) {
	if g == nil {
		return nil, nil
	}
	content, err := c.Given.Content(*g)
	if err != nil {
		return nil, err
	}
	return &side{content, g.Executable}, nil
}

// unkept compares a file whose former content is not stored: it can report that it changed, and no more.
func (c *collection) unkept(ctx context.Context, one *candidate) (section []byte, why string) {
	file, info, err := c.Workspace.Open(one.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, whyNotKept
		}
		return nil, unreadable(ctx, err, one.size)
	}
	defer file.Close()
	if info.Size() != one.given.Size {
		return nil, whyNotKept
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(interruptible{ctx, file}, one.given.Size+1))
	c.left -= int(n)
	switch {
	case err != nil:
		return nil, unreadable(ctx, err, one.size)
	case hex.EncodeToString(sum.Sum(nil)) != one.given.SHA256:
		return nil, whyNotKept
	}
	return c.write(one.path, &side{executable: one.given.Executable}, &side{executable: isExecutable(info)})
}

// read reads a file whose changes may be shown.
func (c *collection) read(ctx context.Context, path string) (*side, error) {
	file, info, err := c.Workspace.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > MaxFileBytes {
		return nil, errTooLarge
	}
	// It may grow while it is read.
	content, err := io.ReadAll(io.LimitReader(interruptible{ctx, file}, MaxFileBytes+1))
	c.left -= len(content)
	if err == nil && len(content) > MaxFileBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return &side{content, isExecutable(info)}, nil
}

func isExecutable(info fs.FileInfo) bool { return info.Mode()&0o100 != 0 }

// unreadable describes why a file was not read.
func unreadable(ctx context.Context, err error, size int64) string {
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge(size, "a file", MaxFileBytes)
	case errors.Is(err, ErrLink):
		return whyLink
	case errors.Is(err, ErrNotRegular):
		return whyNotRegular
	case ctx.Err() != nil:
		return whyTime
	}
	return whyUnreadable
}

func tooLarge(size int64, what string, most int) string {
	return fmt.Sprintf("it has %d bytes, and %s may have %d KiB in the diff", size, what, most>>10)
}

// unfit describes why a section cannot be in the diff; it returns "" if it can.
func (c *collection) unfit(ctx context.Context, path string, section []byte) string {
	switch {
	case len(section) == 0:
		return ""
	case len(section) > c.room:
		return whyFull
	}
	return c.secret(ctx, path, section)
}

// secret describes the secret in the section that is to be written, or in its packed content; it returns "" if there is none.
func (c *collection) secret(ctx context.Context, path string, section []byte) string {
	if c.Holds(section) {
		return whyValue
	}
	found := secretscan.InDiff(deadline(ctx), section)
	if len(found) == 0 && c.packed != nil {
		found = secretscan.InPacked(deadline(ctx), path, c.packed)
	}
	switch {
	case len(found) == 0:
		return ""
	case found[0].RuleID == secretscan.RuleUnfinished:
		return "it could not be looked through for secrets in time"
	}
	return fmt.Sprintf("it holds what looks like a secret (%s)", found[0].RuleID)
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

// interruptible ends a reading when its context does.
type interruptible struct {
	ctx context.Context //nolint:containedctx // it lives as long as one reading
	r   io.Reader
}

// Read implements io.Reader.
func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}
