// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize bounds one script file.
const MaxFileSize = 1 << 20

// LoadFS reads every *.yaml file at the top of fsys. The error names all that is
// wrong in all files.
func LoadFS(fsys fs.FS) (map[string]*Script, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no *.yaml file there")
	}
	scripts := map[string]*Script{}
	files := map[string]string{}
	var errs []error
	for _, name := range names {
		s, err := loadFile(fsys, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, taken := files[s.Name]; taken {
			errs = append(errs, fmt.Errorf("%s: name: %q is already the script in %s", name, s.Name, other))
			continue
		}
		scripts[s.Name], files[s.Name] = s, name
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return scripts, nil
}

func loadFile(fsys fs.FS, name string) (*Script, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	// One byte more than allowed tells a file that is too long from one that just fits.
	text, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Parse checks one script. The file's name is used in errors and, without its
// ending, as the script's name if it gives none.
func Parse(file string, text []byte) (*Script, error) {
	if len(text) > MaxFileSize {
		return nil, fmt.Errorf("%s: is larger than %d bytes", file, MaxFileSize)
	}
	c := &checker{file: file}
	var raw rawScript
	if !c.decode(text, &raw) {
		return nil, errors.Join(c.errs...)
	}
	if raw.Name == "" {
		raw.Name = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	s := c.compile(raw)
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return s, nil
}

// decode reads the text twice: once strictly into the types, and once as a tree,
// which alone knows the line of what is found wrong later.
func (c *checker) decode(text []byte, raw *rawScript) bool {
	var doc, second yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		c.decodeError(err)
		return false
	}
	if len(doc.Content) == 0 {
		c.failLine(1, "is empty")
		return false
	}
	c.root = doc.Content[0]
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(raw); err != nil {
		c.decodeError(err)
		return false
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		c.failLine(max(1, second.Line), "holds more than one document")
		return false
	}
	return true
}
