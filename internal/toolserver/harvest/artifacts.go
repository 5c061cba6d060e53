// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package harvest selects what is taken out of a workspace: the artifacts and the skills of a run, and its changes to the given files. The
// content of a file is read on request, and nothing is read through a link.
package harvest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// savedFile in the state folder has the paths of the files that were saved by name.
	savedFile = "artifacts.json"
	// maxSaved is how many these may be.
	maxSaved = 256
	// maxWalked and maxDepth bound the walk through toolapi.ArtifactDir, in entries and folders.
	maxWalked = 10_000
	maxDepth  = 32
	// artifactsTimeout bounds the making of the list. The client waits a little longer.
	artifactsTimeout = 20 * time.Second
)

var (
	// ErrLinked is the error of Open for a path with a symbolic link in it.
	ErrLinked = errors.New("a symbolic link")
	// errSavedFull is the error of save when there are maxSaved paths.
	errSavedFull = errors.New("as many files are saved as may be")
	// errArtifactTooLarge is the error of examine for a file over toolapi.MaxArtifactBytes.
	errArtifactTooLarge = errors.New("the file is too large")
)

// Artifacts records which files of the workspace belong to the run's result. Their content is read on request: programs may change it at
// any time.
type Artifacts struct {
	w *workspace.Workspace
	// file is the path of savedFile.
	file string
	// web reports whether what lies in the workspace may have come in from the web.
	web func() bool

	mu sync.Mutex
	// saved are paths, sorted.
	saved []string
}

// OpenArtifacts reads from the state folder which files were saved. web reports whether content of the workspace may have come in from the
// web.
func OpenArtifacts(w *workspace.Workspace, state string, web func() bool) (*Artifacts, error) {
	a := &Artifacts{w: w, file: filepath.Join(state, savedFile), web: web}
	content, err := os.ReadFile(a.file)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &a.saved)
	}
	if err != nil {
		return nil, fmt.Errorf("read which files were saved: %w", err)
	}
	return a, nil
}

// save notes on disk that a file belongs to the result.
func (a *Artifacts) save(local string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, found := slices.BinarySearch(a.saved, local)
	switch {
	case found:
		return nil
	case len(a.saved) == maxSaved:
		return errSavedFull
	}
	saved := slices.Insert(slices.Clone(a.saved), at, local)
	content, err := json.Marshal(saved)
	if err == nil {
		err = durable.Write(a.file, content)
	}
	if err != nil {
		return fmt.Errorf("note that the file is saved: %w", err)
	}
	a.saved = saved
	return nil
}

// Has reports whether a file at this path belongs to the result.
func (a *Artifacts) Has(local string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, found := slices.BinarySearch(a.saved, local)
	return found || strings.HasPrefix(local, toolapi.ArtifactDir+"/")
}

// List returns the current artifacts. It returns in time, without the digests of files that it could not read until then.
func (a *Artifacts) List(ctx context.Context) toolapi.Artifacts {
	ctx, cancel := context.WithTimeout(ctx, artifactsTimeout)
	defer cancel()
	s := survey{a: a, found: map[string]*candidate{}}
	a.mu.Lock()
	for _, local := range a.saved {
		s.found[local] = &candidate{}
	}
	a.mu.Unlock()
	s.walk(ctx)
	rank := func(local string) int { return s.found[local].rank }
	paths := slices.SortedFunc(maps.Keys(s.found), func(x, y string) int { return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(x, y)) })
	list := toolapi.Artifacts{Files: []toolapi.ArtifactFile{}, Omitted: s.omitted + int32(max(0, len(paths)-toolapi.MaxArtifacts))}
	paths = paths[:min(len(paths), toolapi.MaxArtifacts)]
	slices.Sort(paths)
	for _, local := range paths {
		list.Files = append(list.Files, a.describe(ctx, local, s.found[local].problem))
	}
	return list
}

func (a *Artifacts) describe(ctx context.Context, local, problem string) toolapi.ArtifactFile {
	if problem != "" {
		return toolapi.ArtifactFile{Path: local, Problem: problem}
	}
	f, err := a.examine(ctx, local)
	switch {
	case err == nil:
	case errors.Is(err, ErrLinked), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, syscall.EISDIR):
		f.Problem = toolapi.ProblemNotRegular
	case errors.Is(err, errArtifactTooLarge):
		f.Problem = toolapi.ProblemTooLarge
	case ctx.Err() != nil:
		// It is there, and a reader that wants to know more of it reads it.
	default:
		f.Problem = toolapi.ProblemUnreadable
	}
	return f
}

// examine reads a file once, and describes it. With an error, it returns the partial description up to then.
func (a *Artifacts) examine(ctx context.Context, local string) (toolapi.ArtifactFile, error) {
	f := toolapi.ArtifactFile{Path: local}
	file, info, err := a.Open(local)
	if err != nil {
		return f, err
	}
	defer file.Close()
	f.Size, f.Provenance = info.Size(), toolapi.ProvenanceInternal
	if a.web() {
		f.Provenance = toolapi.ProvenanceWeb
	}
	if f.Size > toolapi.MaxArtifactBytes {
		return f, errArtifactTooLarge
	}
	head := make([]byte, toolapi.SniffBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return f, err
	}
	f.MediaType = toolapi.MediaType(local, head[:n])
	sum := sha256.New()
	sum.Write(head[:n])
	rest, err := io.Copy(sum, io.LimitReader(workspace.Interruptible(ctx, file), toolapi.MaxArtifactBytes))
	if err != nil {
		return f, err
	}
	if f.Size = int64(n) + rest; f.Size > toolapi.MaxArtifactBytes {
		return f, errArtifactTooLarge // It has grown.
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// Open opens a regular file; for a folder it returns syscall.EISDIR. It follows no symbolic link: the target of a link has a path of its
// own. A program that inserts a link at that very moment makes Open read another file of its workspace, and os.Root confines it to the
// workspace.
func (a *Artifacts) Open(local string) (*os.File, fs.FileInfo, error) {
	for i := range len(local) {
		if local[i] != '/' {
			continue
		}
		switch info, err := a.w.Root.Lstat(local[:i]); {
		case err != nil:
			return nil, nil, err
		case info.Mode().Type() == fs.ModeSymlink:
			return nil, nil, ErrLinked
		}
	}
	named, err := a.w.Root.Lstat(local)
	switch {
	case err != nil:
		return nil, nil, err
	case named.Mode().Type() == fs.ModeSymlink:
		return nil, nil, ErrLinked
	}
	file, info, err := a.w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	switch named, err = a.w.Root.Lstat(local); {
	case err != nil:
	case info.IsDir():
		err = syscall.EISDIR
	case !os.SameFile(named, info):
		err = ErrLinked
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// survey is one walk through toolapi.ArtifactDir.
type survey struct {
	a *Artifacts
	// found has every path, as it may be shown.
	found   map[string]*candidate
	walked  int
	omitted int32
}

// candidate is a file that may be listed.
type candidate struct {
	problem string
	// rank decides which files are listed if there are too many: 0 for saved ones, 1, and 2 for those with a problem.
	rank int
}

func (s *survey) walk(ctx context.Context) {
	switch info, err := s.a.w.Root.Lstat(toolapi.ArtifactDir); {
	case err != nil:
	case info.IsDir():
		s.folder(ctx, toolapi.ArtifactDir, 1)
	case info.Mode().Type() == fs.ModeSymlink:
		s.add(toolapi.ArtifactDir, toolapi.ProblemNotRegular)
	}
}

func (s *survey) folder(ctx context.Context, local string, depth int) {
	entries, more, err := s.a.w.ReadFolder(local)
	if err != nil || depth > maxDepth {
		s.add(local, toolapi.ProblemUnreadable)
		return
	}
	if more {
		s.omitted++
	}
	for i, e := range entries {
		if s.walked++; s.walked > maxWalked || ctx.Err() != nil {
			s.omitted += int32(len(entries) - i)
			return
		}
		switch p := path.Join(local, e.Name()); {
		case e.IsDir():
			s.folder(ctx, p, depth+1)
		case e.Type().IsRegular():
			s.add(p, "")
		default:
			s.add(p, toolapi.ProblemNotRegular)
		}
	}
}

// add takes a path in. One that cannot be shown as it is counts as unreadable, under a name that shows what can be: no other
// file has it.
func (s *survey) add(local, problem string) {
	shown := local
	if !plainPath(local, toolapi.MaxArtifactPath) {
		shown, problem = CleanPath(local, toolapi.MaxArtifactPath), cmp.Or(problem, toolapi.ProblemUnreadable)
	}
	if s.found[shown] != nil {
		if shown != local {
			s.omitted++ // Two such files look the same.
		}
		return
	}
	c := &candidate{problem: problem, rank: 1}
	if problem != "" {
		c.rank = 2
	}
	s.found[shown] = c
}

// plainPath reports whether a path can be shown and asked for as it is, and has no more bytes than most.
func plainPath(local string, most int) bool {
	return len(local) <= most && !strings.ContainsFunc(local, oddInPath) && norm.NFC.IsNormalString(local)
}

// oddInPath finds characters that are invisible, change the direction of the text, or stand for bytes that are not UTF-8.
func oddInPath(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// CleanPath is the displayed form of a path. If a path is not normalized, only its ASCII characters are displayed: é in one character and é
// in two look the same.
func CleanPath(local string, most int) string {
	normal := norm.NFC.IsNormalString(local)
	clean := strings.Map(func(r rune) rune {
		if oddInPath(r) || !normal && r >= utf8.RuneSelf {
			return utf8.RuneError
		}
		return r
	}, local)
	if len(clean) <= most {
		return clean
	}
	const mark = "…\uFFFD" // No plain path has it.
	return plaintext.First(clean, most-len(mark)) + mark
}
