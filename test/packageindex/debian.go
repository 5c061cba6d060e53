// SPDX-License-Identifier: Apache-2.0

package packageindex

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// debianSuite and debianComponent are what a line of sources.list names after the address.
	debianSuite, debianComponent = "stable", "main"
	// debianControl is the folder of the files that a package does not install, its maintainer scripts among them.
	debianControl = "DEBIAN/"
)

// addDebian adds an archive of packages that are the same on every machine, and signs it.
func (i *Index) addDebian(packages []Package) {
	by := newSigner()
	i.key = by.publicKey()
	var list bytes.Buffer
	for _, p := range packages {
		file := path.Join("pool", fmt.Sprintf("%s_%s_all.deb", p.Name, p.Version))
		content := deb(p)
		i.file("/debian/"+file, content)
		fmt.Fprintf(&list, "%sFilename: %s\nSize: %d\nSHA256: %x\n\n", control(p), file, len(content), sha256.Sum256(content))
	}
	suite := path.Join("/debian/dists", debianSuite)
	var release strings.Builder
	fmt.Fprintf(&release, "Origin: packageindex\nSuite: %[1]s\nCodename: %[1]s\nDate: %s\nArchitectures: all\nComponents: %s\nSHA256:\n",
		debianSuite, time.Now().UTC().Format(time.RFC1123), debianComponent)
	all := path.Join(debianComponent, "binary-all/Packages")
	for name, content := range map[string][]byte{all: list.Bytes(), all + ".gz": compress(list.Bytes())} {
		i.file(path.Join(suite, name), content)
		fmt.Fprintf(&release, " %x %d %s\n", sha256.Sum256(content), len(content), name)
	}
	i.file(path.Join(suite, "InRelease"), []byte(by.clearSign(release.String())))
}

// control is what a package says of itself.
func control(p Package) string {
	about := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: packageindex <packageindex@example.org>\n", p.Name, p.Version)
	var needs []string
	for _, name := range slices.Sorted(maps.Keys(p.Needs)) {
		needs = append(needs, fmt.Sprintf("%s (= %s)", name, p.Needs[name]))
	}
	if len(needs) > 0 {
		about += "Depends: " + strings.Join(needs, ", ") + "\n"
	}
	return about + "Description: for a test\n"
}

// deb packs a package for Debian: an ar archive of a version and two tar archives.
func deb(p Package) []byte {
	about, data := map[string]string{"control": control(p)}, map[string]string{}
	for name, content := range p.Files {
		if own, ok := strings.CutPrefix(name, debianControl); ok {
			about[own] = content
		} else {
			data[name] = content
		}
	}
	const programs = "usr/bin/"
	for name, content := range p.Programs {
		data[programs+name] = content
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar.gz", archive("./", about, func(name string) bool { return name != "control" })},
		{"data.tar.gz", archive("./", data, func(name string) bool { return strings.HasPrefix(name, programs) })},
	} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.name, 0, 0, 0, 0o100644, len(member.content))
		out.Write(member.content)
		if len(member.content)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	must(err)
	must(w.Close())
	return out.Bytes()
}
