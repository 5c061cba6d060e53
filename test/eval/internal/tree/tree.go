// SPDX-License-Identifier: Apache-2.0

// Package tree holds the files of a workspace as data. A tree is small: it has bounds, and what a tool leaves behind is not in it.
package tree

import (
	"archive/tar"
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
)

const (
	// MaxBytes and MaxFiles bound a tree. A sandbox that was filled up must not fill this machine's memory.
	MaxBytes = 64 << 20
	MaxFiles = 4096
)

// ErrTooLarge is returned for what would be more than MaxBytes or MaxFiles.
var ErrTooLarge = errors.New("the files are more than a tree may hold")

// Tree has the content of each file by its path, which is relative and has slashes.
type Tree map[string][]byte

// leftovers are folders that tools make beside the work.
var leftovers = []string{".motor", ".git", "__pycache__", "node_modules", ".pytest_cache", ".cache"}

func ignored(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return slices.Contains(leftovers, part) })
}

// add puts a file into the tree and returns the bytes that the tree holds then.
func (t Tree) add(name string, r io.Reader, held int64) (int64, error) {
	if len(t) >= MaxFiles {
		return held, ErrTooLarge
	}
	content, err := io.ReadAll(io.LimitReader(r, MaxBytes-held+1))
	if err != nil {
		return held, fmt.Errorf("read %s: %w", name, err)
	}
	if held += int64(len(content)); held > MaxBytes {
		return held, ErrTooLarge
	}
	t[name] = content
	return held, nil
}

// Read returns the regular files below a folder. Links are not followed, and not in it. A folder that is missing gives an empty tree.
func Read(dir string) (Tree, error) {
	t := Tree{}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var held int64
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(name):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		held, err = t.add(name, f, held)
		return err
	})
	return t, err
}

// FromTar returns the regular files of an archive. Names that lead out of the archive's root are refused.
func FromTar(r io.Reader) (Tree, error) {
	t := Tree{}
	var held int64
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || ignored(name) {
			continue
		}
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("the archive has a file %q, which is outside of it", header.Name)
		}
		if held, err = t.add(name, archive, held); err != nil {
			return nil, err
		}
	}
}

// Tar writes the tree as an archive.
func (t Tree) Tar(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, name := range t.Paths() {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(t[name]))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(t[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Write writes the tree below a folder, which it makes.
func (t Tree) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range t.Paths() {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make the folder of %s: %w", name, err)
		}
		if err := root.WriteFile(name, t[name], 0o644); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
		}
	}
	return nil
}

// With returns the files of t with those of others over them, the last one first.
func (t Tree) With(others ...Tree) Tree {
	all := maps.Clone(t)
	if all == nil {
		all = Tree{}
	}
	for _, o := range others {
		maps.Copy(all, o)
	}
	return all
}

// Without returns the files of t but for those that a pattern names. A pattern that ends in a slash is a folder.
func (t Tree) Without(patterns ...string) Tree {
	left := maps.Clone(t)
	maps.DeleteFunc(left, func(name string, _ []byte) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
	})
	return left
}

// Match reports whether a pattern names a path: a folder with a slash at its end, or a pattern of path.Match.
func Match(pattern, name string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(name, pattern)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Paths returns the sorted paths of the files.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }
