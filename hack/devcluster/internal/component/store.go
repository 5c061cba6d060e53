// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Store is the folder of built programs for one set of versions.
type Store struct {
	// Source is the root of this module.
	Source string
	// Dir holds the store; Bin, below it, the programs.
	Dir string
	Bin string
}

// Open finds the store that belongs to the sources as they are now; it need not exist yet.
func Open(sourceDir string) (*Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("where to keep built programs: %w", err)
	}
	key, err := versionsKey(sourceDir, Programs())
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "motorcortex", "devcluster", key)
	return &Store{Source: sourceDir, Dir: dir, Bin: filepath.Join(dir, "bin")}, nil
}

// versionsKey covers all that decides what the programs are: the versions and checksums that the
// modules pin, our own sources among them, and how each program is built. The Go version is left out
// on purpose; a new toolchain is no reason to build for a quarter of an hour.
func versionsKey(sourceDir string, programs []Program) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %s\n", runtime.GOOS, runtime.GOARCH) // a hash does not fail
	for _, program := range programs {
		_, _ = fmt.Fprintf(sum, "%+v\n", program)
	}
	files, err := pinningFiles(sourceDir)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(sourceDir, file))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %x\n", file, sha256.Sum256(content))
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

func pinningFiles(sourceDir string) ([]string, error) {
	var files []string
	for _, dir := range []string{"components", "pause"} {
		err := fs.WalkDir(os.DirFS(sourceDir), dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name := filepath.Base(path)
			if name == "go.mod" || name == "go.sum" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list component sources: %w", err)
		}
	}
	slices.Sort(files)
	return files, nil
}

// Path is where a program is, or will be.
func (s *Store) Path(name string) string { return filepath.Join(s.Bin, name) }

// Missing returns the programs that are not built yet, of those named or of all.
func (s *Store) Missing(names ...string) ([]Program, error) {
	var missing []Program
	for _, program := range Programs() {
		if len(names) > 0 && !slices.Contains(names, program.Name) {
			continue
		}
		_, err := os.Stat(s.Path(program.Name))
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, program)
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}
