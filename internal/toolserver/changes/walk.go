// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	// maxPath is the longest path that is looked at, in bytes, maxDepth how many folders deep it may be.
	maxPath  = 1024
	maxDepth = 64
	// maxWalked is how many entries of folders are looked at.
	maxWalked = 50_000
)

// Workspace is a folder that programs work in. No path leads out of it, whatever they put there.
type Workspace interface {
	// Lstat describes the entry at a path, and follows no link at its end.
	Lstat(path string) (fs.FileInfo, error)
	// ReadFolder returns the entries of a folder by their names, and whether there are more than it returns.
	ReadFolder(path string) (entries []fs.DirEntry, more bool, err error)
	// Open opens a regular file. It follows no link, and never waits.
	Open(path string) (io.ReadCloser, fs.FileInfo, error)
}

// candidate is a file that may have changed.
type candidate struct {
	path string
	// given is nil for a file that is new.
	given *Given
	// size is the reported size of the file when it was found.
	size int64
	// rank decides which changes come first if not all fit: 0 for given or named files, 1 for any other.
	rank int
}

// survey is one walk through the workspace.
type survey struct {
	w       Workspace
	ignores *ignores
	report  *report
	given   map[string]*Given
	found   map[string]*candidate
	walked  int
}

// candidates are all files that may have changed: the given ones, and the new ones that the walk finds. The given ones are compared however
// far the walk comes, so that none counts as deleted only because it was not reached.
func candidates(ctx context.Context, w Workspace, given []Given, named []string, ig *ignores, r *report) []*candidate {
	s := &survey{w: w, ignores: ig, report: r, given: map[string]*Given{}, found: map[string]*candidate{}}
	for i := range given {
		g := &given[i]
		s.given[g.Path] = g
		if !ig.excluded(g.Path) {
			s.found[g.Path] = &candidate{path: g.Path, given: g, size: g.Size}
		}
	}
	// Named paths come first: the walk may end before it gets there.
	for _, n := range named {
		s.named(ctx, n)
	}
	s.folder(ctx, ".", 0, 1)
	all := make([]*candidate, 0, len(s.found))
	for _, c := range s.found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.size, y.size), strings.Compare(x.path, y.path))
	})
	return all
}

// named adds a path that the model named as its result, build output or not.
func (s *survey) named(ctx context.Context, p string) {
	if p == "." || s.ignores.excluded(p) || !s.reachedByFolders(p) {
		return
	}
	switch info, err := s.w.Lstat(p); {
	case err != nil:
	case info.IsDir():
		s.folder(ctx, p, strings.Count(p, "/")+1, 0)
	default:
		s.entry(p, info.Mode(), info.Size(), 0)
	}
}

// reachedByFolders reports whether no link is on the way to the path: what one leads to has a path of its own.
func (s *survey) reachedByFolders(p string) bool {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		if info, err := s.w.Lstat(p[:i]); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func (s *survey) folder(ctx context.Context, dir string, depth, rank int) {
	if depth > maxDepth || len(dir) > maxPath {
		s.report.leave(rank, dir+"/", "folders so deep are not looked into")
		return
	}
	entries, more, err := s.w.ReadFolder(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.report.leave(rank, dir+"/", "the folder cannot be read")
		}
		return
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			s.report.leave(0, dir+"/", "not all of the folder was looked at: there was no time left")
			return
		}
		if s.walked++; s.walked > maxWalked {
			s.report.leave(0, dir+"/", "not all of the folder was looked at: the workspace has too many files")
			return
		}
		p := path.Join(dir, e.Name())
		switch {
		case s.ignores.excluded(p):
		case s.ignores.built(p, e.IsDir()):
			if e.IsDir() {
				s.report.ignore(p + "/")
			}
		case e.IsDir():
			s.folder(ctx, p, depth+1, rank)
		default:
			size := int64(0)
			if info, err := e.Info(); err == nil {
				size = info.Size()
			}
			s.entry(p, e.Type(), size, rank)
		}
	}
	if more {
		s.report.leave(0, dir+"/", "not all of the folder was looked at: it has too many files")
	}
}

// entry adds an entry that is not a folder.
func (s *survey) entry(p string, mode fs.FileMode, size int64, rank int) {
	c := s.found[p]
	switch {
	case c != nil:
		c.size = size
	case mode.IsRegular():
		s.found[p] = &candidate{path: p, size: size, rank: rank}
	case mode.Type() == fs.ModeSymlink:
		s.report.leave(rank, p, whyLink)
	default:
		s.report.leave(rank, p, whyNotRegular)
	}
}
