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
}

// Parse reads a text. Lines that begin with # are comments.
func Parse(text string) (*File, error) {
	f := &File{sections: map[string]map[string]string{}}
	current := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			if !strings.HasSuffix(line, "]") {
				return nil, fmt.Errorf("line %d: the head of a section is not closed", i+1)
			}
			current = strings.TrimSpace(line[1 : len(line)-1])
			f.add(current)
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok || current == "" {
				return nil, fmt.Errorf("line %d: there is no setting of a section", i+1)
			}
			f.sections[current][strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return f, nil
}

func (f *File) add(name string) {
	if f.sections[name] == nil {
		f.sections[name] = map[string]string{}
		f.order = append(f.order, name)
	}
}

// Get returns the value of a key, and whether there is one.
func (f *File) Get(section, key string) (string, bool) {
	value, ok := f.sections[section][key]
	return value, ok
}

// Sections returns the names of the sections.
func (f *File) Sections() []string { return f.order }
