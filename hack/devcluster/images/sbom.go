// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// document is a software bill of materials: SPDX 2.3, https://spdx.github.io/spdx-spec/v2.3/. It has no time of its own making, so
// that equal images have equal documents.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string     `json:"name"`
	ID               string     `json:"SPDXID"`
	Version          string     `json:"versionInfo,omitempty"`
	DownloadLocation string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	References       []external `json:"externalRefs,omitempty"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// noAssertion is SPDX's word for what nobody says.
const noAssertion = "NOASSERTION"

// sbomAll writes one document for each image that is built.
func (b *builder) sbomAll(ctx context.Context, all []definition, names []string) error {
	chosen, err := choose(all, names)
	if err != nil {
		return err
	}
	for _, d := range chosen {
		known, err := b.known(d.Name)
		if err != nil {
			return fmt.Errorf("image %s is not built yet: %w", d.Name, err)
		}
		doc, err := b.sbom(ctx, d, known)
		if err != nil {
			return fmt.Errorf("image %s: %w", d.Name, err)
		}
		content, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		file := filepath.Join(b.output, d.Name+".spdx.json")
		if err := os.WriteFile(file, append(content, '\n'), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s=%s\n", d.Name, file)
	}
	return nil
}

// sbom lists what is in an image: the modules of its program and, in the sandbox, the Debian packages.
func (b *builder) sbom(ctx context.Context, d definition, image built) (document, error) {
	program, err := b.compile(ctx, d)
	if err != nil {
		return document{}, err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(program)) }()
	packages, err := goModules(program)
	if err != nil {
		return document{}, err
	}
	if d.Sandbox {
		root, err := b.rootFS(ctx)
		if err != nil {
			return document{}, err
		}
		more, err := debianPackages(root.File)
		if err != nil {
			return document{}, err
		}
		packages = append(packages, more...)
	}
	return newDocument(image.Reference, packages), nil
}

func newDocument(reference string, packages []spdxPackage) document {
	const id = "SPDXRef-DOCUMENT"
	doc := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: id, Name: reference, Namespace: "https://motorcortex.dev/sbom/" + reference,
		Creation: creation{Created: "1970-01-01T00:00:00Z", Creators: []string{"Tool: motorcortex-images"}},
	}
	for i := range packages {
		packages[i].ID = fmt.Sprintf("SPDXRef-Package-%d", i)
		packages[i].DownloadLocation = noAssertion
		doc.Relationships = append(doc.Relationships, relationship{id, "DESCRIBES", packages[i].ID})
	}
	doc.Packages = packages
	return doc
}

// goModules reads the modules that a program was built from out of the program itself.
func goModules(program string) ([]spdxPackage, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	packages := []spdxPackage{{Name: "go", Version: info.GoVersion, References: purl("pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"))}}
	for _, m := range info.Deps {
		m = codeOf(m)
		packages = append(packages, spdxPackage{Name: m.Path, Version: m.Version, References: purl("pkg:golang/" + m.Path + "@" + m.Version)})
	}
	return packages, nil
}

// codeOf returns the module that the code of a dependency is from. A folder of the repository has no version, so the module keeps its own name.
func codeOf(m *debug.Module) *debug.Module {
	if m.Replace == nil || m.Replace.Version == "" {
		return m
	}
	return m.Replace
}

// debianPackages reads what dpkg says is installed in a root file system.
func debianPackages(layer string) ([]spdxPackage, error) {
	file, err := os.Open(layer)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the root file system has no list of installed packages")
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimPrefix(filepath.Clean("/"+header.Name), "/") == "var/lib/dpkg/status" {
			return parseStatus(archive)
		}
	}
}

// parseStatus reads dpkg's status file: paragraphs with a field a line.
func parseStatus(r io.Reader) ([]spdxPackage, error) {
	var packages []spdxPackage
	fields := map[string]string{}
	end := func() {
		if name := fields["Package"]; name != "" && strings.HasSuffix(fields["Status"], " installed") {
			packages = append(packages, spdxPackage{Name: name, Version: fields["Version"], References: purl(
				fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s", name, fields["Version"], fields["Architecture"], suite))})
		}
		clear(fields)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			end()
			continue
		}
		if name, value, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, " ") {
			fields[name] = value
		}
	}
	end()
	slices.SortFunc(packages, func(a, b spdxPackage) int { return strings.Compare(a.Name, b.Name) })
	return packages, lines.Err()
}

func purl(locator string) []external { return []external{{"PACKAGE-MANAGER", "purl", locator}} }
