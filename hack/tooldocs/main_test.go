// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
)

// Every tool that a model can be told of has a note, and its example is one that the tool would take.
func TestEveryToolHasANote(t *testing.T) {
	t.Parallel()
	known := notes()
	catalog := catalog.New()
	for _, name := range catalog.Names() {
		n, ok := known[name]
		if !ok || n.Short == "" || n.Limits == "" || len(n.Errors) == 0 {
			t.Errorf("%s has no whole note", name)
			continue
		}
		if err := catalog.ValidateArguments(name, n.Example); err != nil {
			t.Errorf("the example of %s: %v", name, err)
		}
	}
	if len(known) != len(catalog.Names()) {
		t.Errorf("there are notes about %d tools, and %d tools", len(known), len(catalog.Names()))
	}
}

// The codes in the notes are codes that there are.
func TestErrorsAreCodes(t *testing.T) {
	t.Parallel()
	var source []byte
	for _, file := range []string{"../../internal/toolapi/toolapi.go", "../../internal/engine/attempt/search.go", "../../internal/motorloop/result/codes.go"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, content...)
	}
	for name, n := range notes() {
		for _, code := range n.Errors {
			if code != "exit_N" && code != "http_STATUS" && !regexp.MustCompile(`Code\w+ += "`+code+`"`).Match(source) {
				t.Errorf("%s: no code %s", name, code)
			}
		}
	}
}

func TestThePageIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := render()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../docs/reference/tools.md"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/reference/tools.md is not what make generate writes (%v)", err)
	}
}
