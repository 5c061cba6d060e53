// SPDX-License-Identifier: Apache-2.0

// Package packageindex is a stand-in for the indexes of npm, pip and apt, for tests. It has the packages that it is made with
// and no others.
//
//	GET /simple/{name}/              the versions of a Python package, as pip asks for them
//	GET /npm/{name}                  the versions of a package for Node.js, as npm asks for them
//	GET /files/{file}                a wheel, or an archive for npm
//	GET /debian/dists/stable/{file}  the list of the packages for Debian, and its signature
//	GET /debian/pool/{file}          a package for Debian
//
// The address of the index for pip ends in /simple, that of the registry for npm in /npm. The line of sources.list ends in
// "/debian stable main", and Key is what the list is signed with.
package packageindex

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Package is a package in one version.
type Package struct {
	Name, Version string
	// Files are its files by their paths, without what the index adds by itself: a file package.json that is not here, and
	// what a wheel says of itself. Those of a package for Debian that are below DEBIAN/ are its maintainer scripts.
	Files map[string]string
	// Programs are commands by their names: of a Python package the function, as in module:function, of one for Node.js the
	// file, of one for Debian the content.
	Programs map[string]string
	// Needs are packages that it depends on, as the index has them: name and version.
	Needs map[string]string
}

// Index serves packages.
type Index struct {
	mux *http.ServeMux
	// node are the answers about packages for Node.js.
	node map[string]http.HandlerFunc
	key  string
}

// New makes an index of Python packages and of packages for Node.js and for Debian. It panics if it cannot pack them.
func New(python, node, debian []Package) *Index {
	i := &Index{mux: http.NewServeMux(), node: map[string]http.HandlerFunc{}}
	// npm escapes the slash in a name, so that it is one part of the path.
	i.mux.HandleFunc("GET /npm/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if answer := i.node[r.PathValue("name")]; answer != nil {
			answer(w, r)
			return
		}
		http.NotFound(w, r)
	})
	for _, p := range python {
		i.addWheel(p)
	}
	for _, p := range node {
		i.addTarball(p)
	}
	i.addDebian(debian)
	return i
}

// Key is the armored public key of the packages for Debian. Each index has its own.
func (i *Index) Key() string { return i.key }

// ServeHTTP implements http.Handler.
func (i *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) { i.mux.ServeHTTP(w, r) }

func (i *Index) file(at string, content []byte) {
	i.mux.HandleFunc("GET "+at, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, path.Base(at), time.Time{}, bytes.NewReader(content))
	})
}

// base is the address of the index as the client knows it.
func base(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (i *Index) addWheel(p Package) {
	file := fmt.Sprintf("%s-%s-py3-none-any.whl", strings.ReplaceAll(p.Name, "-", "_"), p.Version)
	content := wheel(p)
	i.file("/files/"+file, content)
	page := fmt.Sprintf("<!DOCTYPE html><html><body><a href=\"/files/%s#sha256=%x\">%s</a></body></html>", file, sha256.Sum256(content), file)
	i.mux.HandleFunc("GET /simple/"+p.Name+"/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page)) // Who went away needs no answer.
	})
}

func wheel(p Package) []byte {
	info := fmt.Sprintf("%s-%s.dist-info/", strings.ReplaceAll(p.Name, "-", "_"), p.Version)
	var metadata, programs, record strings.Builder
	fmt.Fprintf(&metadata, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", p.Name, p.Version)
	for _, name := range slices.Sorted(maps.Keys(p.Needs)) {
		fmt.Fprintf(&metadata, "Requires-Dist: %s==%s\n", name, p.Needs[name])
	}
	files := maps.Collect(maps.All(p.Files))
	files[info+"METADATA"] = metadata.String()
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: packageindex\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	for _, name := range slices.Sorted(maps.Keys(p.Programs)) {
		fmt.Fprintf(&programs, "%s = %s\n", name, p.Programs[name])
	}
	files[info+"entry_points.txt"] = "[console_scripts]\n" + programs.String()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256([]byte(files[name]))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	files[info+"RECORD"] = record.String() + info + "RECORD,,\n"
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := archive.Create(name)
		must(err)
		_, err = f.Write([]byte(files[name]))
		must(err)
	}
	must(archive.Close())
	return out.Bytes()
}

func (i *Index) addTarball(p Package) {
	manifest := map[string]any{"name": p.Name, "version": p.Version, "main": "index.js", "bin": p.Programs, "dependencies": p.Needs}
	if own, ok := p.Files["package.json"]; ok {
		must(json.Unmarshal([]byte(own), &manifest))
	}
	file := fmt.Sprintf("%s-%s.tgz", path.Base(p.Name), p.Version)
	content := tarball(p, manifest)
	i.file("/files/"+file, content)
	sum := sha512.Sum512(content)
	i.node[p.Name] = func(w http.ResponseWriter, r *http.Request) {
		version := maps.Clone(manifest)
		version["dist"] = map[string]string{
			"tarball": base(r) + "/files/" + file, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		answer, err := json.Marshal(map[string]any{
			"name": p.Name, "dist-tags": map[string]string{"latest": p.Version}, "versions": map[string]any{p.Version: version},
		})
		must(err)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // Who went away needs no answer.
	}
}

func tarball(p Package, manifest map[string]any) []byte {
	about, err := json.Marshal(manifest)
	must(err)
	files := maps.Collect(maps.All(p.Files))
	files["package.json"] = string(about)
	return archive("package/", files, func(string) bool { return false })
}

// archive packs files below a folder as a tar archive that is compressed with gzip. executable says which of them may be run.
func archive(folder string, files map[string]string, executable func(name string) bool) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if executable(name) {
			mode = 0o755
		}
		must(w.WriteHeader(&tar.Header{Name: folder + name, Mode: mode, Size: int64(len(files[name]))}))
		_, err := w.Write([]byte(files[name]))
		must(err)
	}
	must(w.Close())
	return compress(out.Bytes())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
