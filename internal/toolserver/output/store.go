// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package output keeps what calls print: the beginning and the end in a result, and all of it in a file of the workspace.
package output

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"

	"motorcortex.dev/motorcortex/internal/secret/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// MaxOutputsBytes is the most that the stored outputs of all calls together take. Without a limit, a run whose calls print a lot would
	// fill its workspace with their output.
	MaxOutputsBytes = 256 << 20
	// MaxOutputs is the most files that kept outputs are in, except for those that are still written.
	MaxOutputs = 1024
	// OutputMode lets the programs of the sandbox read an output, and other users none.
	OutputMode = 0o600
)

// Store is the folder with the outputs of calls. It is in the workspace, and counts towards its size. Values that the programs received are
// removed from everything that is written there.
type Store struct {
	*workspace.Workspace
	egress *wayout.Egress
	// full returns an error if nothing may be written.
	full func() error

	mu sync.Mutex
	// open has the names of files that are still written. They are not removed for others.
	open map[string]bool
}

// NewStore returns the folder of a workspace. full returns an error if nothing may be written.
func NewStore(ws *workspace.Workspace, way *wayout.Egress, full func() error) *Store {
	return &Store{Workspace: ws, egress: way, full: full, open: map[string]bool{}}
}

// File is a file that is written.
type File struct {
	all  *Store
	name string
	file *shownFile
	text *redact.Writer
	// live is true if the file may be read before it is complete: a partial line is shown at its end.
	live bool
}

// shownFile is a file whose end may still change: a value may go on in the next line, and then the lines that it began in are others.
type shownFile struct {
	*os.File
	// final is how many bytes do not change, and shown are those after them.
	final int64
	shown []byte
}

// Write adds p to the unchanging part, and replaces the partial line that was shown there.
func (f *shownFile) Write(p []byte) (int, error) {
	n, err := f.put(p)
	f.final += int64(n)
	f.shown = f.shown[min(n, len(f.shown)):]
	return n, err
}

// show has the file end in p.
func (f *shownFile) show(p []byte) error {
	if _, err := f.put(p); err != nil {
		return err
	}
	if len(p) < len(f.shown) {
		if err := f.Truncate(f.final + int64(len(p))); err != nil {
			return err
		}
	}
	f.shown = p
	return nil
}

// put writes p after the unchanged part. It does not write again what is in the file already: a concurrent reader of the file still finds
// it.
func (f *shownFile) put(p []byte) (int, error) {
	same := 0
	for same < min(len(p), len(f.shown)) && p[same] == f.shown[same] {
		same++
	}
	if same == len(p) {
		return same, nil
	}
	n, err := f.WriteAt(p[same:], f.final+int64(same))
	return same + n, err
}

// Create makes the file for an output, after it has removed the oldest outputs to free space. One that is live is readable up to its last
// line at any time.
func (o *Store) Create(local string, live bool) (*File, error) {
	if o.full() != nil {
		return nil, syscall.ENOSPC
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.prune(MaxOutputsBytes-MaxSpillBytes, MaxOutputs-1); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := o.CreateAs(local, OutputMode)
	if err != nil {
		return nil, err
	}
	o.open[path.Base(local)] = true
	shown := &shownFile{File: file}
	return &File{all: o, name: path.Base(local), file: shown, text: o.egress.Hiding().Writer(shown), live: live}, nil
}

// Spill is create for a collector.
func (o *Store) Spill(local string, live bool) func() (io.WriteCloser, error) {
	return func() (io.WriteCloser, error) {
		file, err := o.Create(local, live)
		if err != nil {
			return nil, err
		}
		return file, nil
	}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.text.Write(p)
	if err == nil && f.live {
		pending := f.text.Pending()
		err = f.file.show(pending[:bytes.LastIndexByte(pending, '\n')+1])
	}
	return n, err
}

// Close completes the file.
func (f *File) Close() error {
	f.all.mu.Lock()
	delete(f.all.open, f.name)
	f.all.mu.Unlock()
	return errors.Join(f.text.Flush(), f.file.show(nil), f.file.Close())
}

// prune removes the oldest outputs until the others have at most the given number of bytes in that many files. The caller holds the mutex.
func (o *Store) prune(most int64, files int) error {
	entries, _, err := o.ReadFolder(toolapi.OutputDir)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	var total int64
	for _, e := range entries {
		// An entry that is not a file was put there by a program, and is its own affair. The entry's own Info would look it up by the folder's
		// path, which may lead elsewhere by now.
		if info, err := o.Root.Lstat(path.Join(toolapi.OutputDir, e.Name())); err == nil && info.Mode().IsRegular() && !o.open[e.Name()] {
			all = append(all, info)
			total += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for i, f := range all {
		if total <= most && len(all)-i <= files {
			break
		}
		if err := o.Root.Remove(path.Join(toolapi.OutputDir, f.Name())); err != nil {
			return err
		}
		total -= f.Size()
	}
	return nil
}

// Keep writes the shown content of a result of at most limit bytes into a file. It does so if no other file has the content and it is long
// enough to be shortened one day. Notes alone need no file, and those about a program in the background name the one that its output goes
// to.
func (o *Store) Keep(id string, result *toolapi.Result, limit int) {
	if result.OutputFile != "" || result.NotesOnly() || len(result.Output) <= toolapi.KeptOver {
		return
	}
	local := toolapi.OutputPath(id)
	file, err := o.Create(local, false)
	if err == nil {
		_, err = io.WriteString(file, result.Output)
		if err = errors.Join(err, file.Close()); err != nil {
			_ = o.Root.Remove(local) // A part of it only takes the space that is missing.
		}
	}
	switch {
	case err == nil:
		result.KeptFile = local
	case (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) && len(result.Output)+len(NotKept)+2 < limit:
		result.Note(NotKept)
	}
}

// NotKept follows an output that is in no file.
const NotKept = "[this output is in no file, because the workspace is full: note what you need of it]\n"

// Keeps reports whether the outputs of a tool are kept. Those of tools that show files are not: the files are there. Others never come to
// a model.
func Keeps(name string, t tool.Tool) bool {
	return t.Alone && !toolapi.IsOneshot(name) && name != toolapi.ToolInstall
}
