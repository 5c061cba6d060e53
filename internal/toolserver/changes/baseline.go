// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// MaxGivenBytes is the largest given file whose content is stored, maxGivenTotal the most that all of them have together. For other files
	// a diff can only report that they changed, and not how.
	MaxGivenBytes = 1 << 20
	maxGivenTotal = 64 << 20
	// maxGiven is how many files can be given. A manager sends a few hundred at most.
	maxGiven = 4096
	// maxRecordHead is the most that the head of a record has: the path with every byte escaped, and some numbers.
	maxRecordHead = 32 << 10
)

// errGivenFull is the error when there are maxGiven files.
var errGivenFull = errors.New("as many files are given as may be")

// Given is a file as it was put into the workspace before the first call.
type Given struct {
	Path       string `json:"-"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
	// Whole is true if its content is stored.
	Whole bool `json:"whole,omitempty"`
}

// recordHead is the line that a record begins with. A path may have bytes that no text in JSON has.
type recordHead struct {
	Path []byte `json:"path"`
	Given
}

// Baseline stores the given files in a folder of its own that no program can access. Each file has one record: its recordHead as a line of
// JSON, and its content.
type Baseline struct {
	dir string
	// write makes a file that is there whole after a crash, or not at all.
	write func(path string, content []byte) error

	mu    sync.Mutex
	files map[string]Given
	// total is how many bytes of content are kept.
	total int64
}

// OpenBaseline reads the given files of a former process. write makes a file that is there whole after a crash, or not at all.
func OpenBaseline(dir string, write func(path string, content []byte) error) (*Baseline, error) {
	b := &Baseline{dir: dir, write: write, files: map[string]Given{}}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder for what is given: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read what was given: %w", err)
	}
	for _, e := range entries {
		if len(e.Name()) != len(recordName("")) {
			continue // A write that was cut short.
		}
		g, _, err := b.read(e.Name(), false)
		if err == nil && recordName(g.Path) != e.Name() {
			err = errors.New("it is of another file")
		}
		if err != nil {
			return nil, fmt.Errorf("read what was given: the record %s is damaged: %w", e.Name(), err)
		}
		b.add(g)
	}
	return b, nil
}

func (b *Baseline) add(g Given) {
	if old := b.files[g.Path]; old.Whole {
		b.total -= old.Size
	}
	if g.Whole {
		b.total += g.Size
	}
	b.files[g.Path] = g
}

// Put records a given file.
func (b *Baseline) Put(path string, content []byte, executable bool) error {
	sum := sha256.Sum256(content)
	return b.put(Given{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Executable: executable}, content)
}

// PutSum records a given file whose content is not stored.
func (b *Baseline) PutSum(path string, size int64, sum string, executable bool) error {
	return b.put(Given{Path: path, Size: size, SHA256: sum, Executable: executable}, nil)
}

// put stores the content if there is any and it is within the bounds.
func (b *Baseline) put(g Given, content []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old, known := b.files[g.Path]
	if known && old.SHA256 == g.SHA256 && old.Executable == g.Executable {
		return nil // It comes again after a request whose answer was lost.
	}
	if !known && len(b.files) == maxGiven {
		return errGivenFull
	}
	others := b.total
	if old.Whole {
		others -= old.Size
	}
	g.Whole = content != nil && g.Size <= MaxGivenBytes && others+g.Size <= maxGivenTotal
	head, err := json.Marshal(recordHead{[]byte(g.Path), g})
	if err == nil && len(head) >= maxRecordHead {
		err = errors.New("its path is too long")
	}
	if err == nil {
		var kept []byte
		if g.Whole {
			kept = content
		}
		record := slices.Concat(head, []byte("\n"), kept)
		err = b.write(filepath.Join(b.dir, recordName(g.Path)), record)
	}
	if err != nil {
		return fmt.Errorf("note that the file was given: %w", err)
	}
	b.add(g)
	return nil
}

// Files are the given files, by their paths.
func (b *Baseline) Files() []Given {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.files), func(x, y Given) int { return strings.Compare(x.Path, y.Path) })
}

// Content is that of a file that is kept whole.
func (b *Baseline) Content(g Given) ([]byte, error) {
	got, content, err := b.read(recordName(g.Path), true)
	if err == nil && (got != g || int64(len(content)) != g.Size) {
		err = errors.New("the record is of another content")
	}
	if err != nil {
		return nil, fmt.Errorf("read what was given as %s: %w", g.Path, err)
	}
	return content, nil
}

// read reads a record, and its content too if that is wanted.
func (b *Baseline) read(name string, whole bool) (g Given, content []byte, err error) {
	file, err := os.Open(filepath.Join(b.dir, name))
	if err != nil {
		return g, nil, err
	}
	defer file.Close()
	r := bufio.NewReaderSize(io.LimitReader(file, maxRecordHead+MaxGivenBytes), maxRecordHead)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return g, nil, err
	}
	var head recordHead
	err = json.Unmarshal(bytes.TrimSpace(line), &head)
	g = head.Given
	g.Path = string(head.Path)
	if err == nil && whole {
		content, err = io.ReadAll(r)
	}
	return g, content, err
}

// recordName is the name of the record of a file.
func recordName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}
