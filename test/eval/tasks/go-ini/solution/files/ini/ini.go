// Package ini reads settings.
package ini

import (
	"fmt"
	"strings"
)

// File is what was read.
type File struct {
	sections map[string]map[string]string
	order    []string
	parents  map[string][]parent
}

// parent is a section that another one inherits from, and the line that says so.
type parent struct {
	name string
	line int
}

// Parse reads a text. Lines that begin with # are comments.
func Parse(text string) (*File, error) {
	f := &File{sections: map[string]map[string]string{}, parents: map[string][]parent{}}
	current := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			if !strings.HasSuffix(line, "]") {
				return nil, fmt.Errorf("line %d: the head of a section is not closed", i+1)
			}
			name, parents, inherits := strings.Cut(line[1:len(line)-1], ":")
			current = strings.TrimSpace(name)
			f.add(current)
			if inherits {
				for _, p := range strings.Split(parents, ",") {
					f.parents[current] = append(f.parents[current], parent{strings.TrimSpace(p), i + 1})
				}
			}
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok || current == "" {
				return nil, fmt.Errorf("line %d: there is no setting of a section", i+1)
			}
			f.sections[current][strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	for _, name := range f.order {
		if err := f.check(name, map[string]bool{}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// check returns an error if a section inherits from one that does not exist, or from itself.
func (f *File) check(name string, path map[string]bool) error {
	path[name] = true
	defer delete(path, name)
	for _, p := range f.parents[name] {
		if f.sections[p.name] == nil {
			return fmt.Errorf("line %d: there is no section %s", p.line, p.name)
		}
		if path[p.name] {
			return fmt.Errorf("line %d: %s inherits from itself", p.line, p.name)
		}
		if err := f.check(p.name, path); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) add(name string) {
	if f.sections[name] == nil {
		f.sections[name] = map[string]string{}
		f.order = append(f.order, name)
	}
}

// Get returns the value of a key, and whether there is one.
func (f *File) Get(section, key string) (string, bool) {
	if value, ok := f.sections[section][key]; ok {
		return value, true
	}
	for _, p := range f.parents[section] {
		if value, ok := f.Get(p.name, key); ok {
			return value, true
		}
	}
	return "", false
}

// Sections returns the names of the sections.
func (f *File) Sections() []string { return f.order }
