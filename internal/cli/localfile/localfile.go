// SPDX-License-Identifier: Apache-2.0

// Package localfile reads the files of the user that a command names.
package localfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Split divides PATH or PATH=NAME into the path and the name that the run is to know the file by. Without a name it is the path, and of one that
// leads out of the current folder the last part.
func Split(arg string) (from, to string) {
	from, to, named := strings.Cut(arg, "=")
	if !named {
		to = filepath.ToSlash(filepath.Clean(from))
		if !filepath.IsLocal(from) {
			to = path.Base(to)
		}
	}
	return from, to
}

// ErrTooLarge reports that a file has more bytes than are read.
var ErrTooLarge = errors.New("it is too large")

// Read reads a regular file of at most so many bytes.
func Read(name string, most int) ([]byte, error) {
	// A pipe would be waited for, and no signal ends that.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("it is no file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder: name its files")
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(content) > most {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, most)
	}
	return content, err
}
