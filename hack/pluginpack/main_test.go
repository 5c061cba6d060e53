// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex"
)

// plugin is a manifest, as krew reads it.
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Files  []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
			Bin string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

func readTemplate(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(manifest)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func values() map[string]string {
	m := map[string]string{"VERSION": motorcortex.Version(), "URL": "https://example.com/v1"}
	for _, p := range platforms {
		m[p.variable()] = strings.Repeat("0123456789abcdef", 4)
	}
	return m
}

// files are those of an archive, with their modes.
func files(t *testing.T, packed []byte) map[string]int64 {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = h.Mode
	}
}

func TestTheManifestNamesTheArchivesThatAreMade(t *testing.T) {
	t.Parallel()
	// The template is YAML itself, so that an editor can check it.
	if err := yaml.UnmarshalStrict([]byte(readTemplate(t)), &plugin{}); err != nil {
		t.Fatal(err)
	}
	filled, err := fill(readTemplate(t), values())
	if err != nil {
		t.Fatal(err)
	}
	var m plugin
	if err := yaml.UnmarshalStrict([]byte(filled), &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata["name"] != "motor" || m.Spec.Version != "v"+motorcortex.Version() {
		t.Errorf("it is %s %s %s %s", m.APIVersion, m.Kind, m.Metadata["name"], m.Spec.Version)
	}
	if n := utf8.RuneCountInString(m.Spec.ShortDescription); n == 0 || n > 50 || m.Spec.Description == "" || !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(m.Spec.Version) {
		t.Errorf("krew's index refuses it: %d characters, version %s", n, m.Spec.Version)
	}
	var named []platform
	for _, is := range m.Spec.Platforms {
		p := platform{is.Selector.MatchLabels["os"], is.Selector.MatchLabels["arch"]}
		named = append(named, p)
		packed, err := pack(p, []byte("program"), []byte("licence"))
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for _, f := range is.Files {
			from = append(from, f.From)
		}
		slices.Sort(from)
		has := files(t, packed)
		if want := slices.Sorted(maps.Keys(has)); is.URI != "https://example.com/v1/"+p.archive() || len(is.SHA256) != 64 || !slices.Equal(from, want) || has[is.Bin] != 0o755 {
			t.Errorf("%v: %s, %d characters of a sum, the files %q of %q, the program %s", p, is.URI, len(is.SHA256), from, want, is.Bin)
		}
		again, err := pack(p, []byte("program"), []byte("licence"))
		if err != nil || !bytes.Equal(again, packed) {
			t.Errorf("%v: the same files make another archive, %v", p, err)
		}
	}
	if !slices.Equal(named, platforms) {
		t.Errorf("the manifest names %v, and made are %v", named, platforms)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ template, want, err string }{
		"a value":            {"a ${X} $(b) $c }", "a 1 $(b) $c }", ""},
		"an unknown one":     {"${X} ${Y}\nz", "", "nothing is known for the variable ${Y}"},
		"one without an end": {"${X} ${X", "", "nothing is known for the variable ${X"},
		"one that is unused": {"x", "", "does not have the variable ${X}"},
	} {
		got, err := fill(tt.template, map[string]string{"X": "1"})
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAnAddressIsNeeded(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "dist", "http://example.com", "https://"} {
		if err := run(t.Context(), t.TempDir(), base); err == nil || !strings.Contains(err.Error(), "-url") {
			t.Errorf("%q: %v", base, err)
		}
	}
}
