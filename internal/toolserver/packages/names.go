// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

const (
	// maxNames is how many names of installed packages are reported, and maxName how long one is.
	maxNames = 100
	maxName  = 100
	// maxLockBytes is the most that is read of npm's list of installed packages.
	maxLockBytes = 16 << 20
)

// name records an installed package.
func (i *installation) name(kind, name, version string) {
	if len(i.names) < maxNames {
		i.names = append(i.names, plaintext.First(text.Printable(kind+" "+name+"@"+version), maxName))
	}
}

// nameNPM reads npm's list of installed packages. There is none if npm installed nothing.
func (i *installation) nameNPM() error {
	file, err := i.p.Workspace.Root.Open(path.Join(installDir, "out", toolapi.PackagesNPM, ".package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxLockBytes))
	if err != nil {
		return err
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if json.Unmarshal(content, &lock) != nil {
		return nil // It is for people, and nothing depends on it.
	}
	for _, at := range slices.Sorted(maps.Keys(lock.Packages)) {
		const folder = toolapi.PackagesNPM + "/" // A package that needs another version has a folder of its own for it.
		name := at[strings.LastIndex(folder+at, folder):]
		i.name("npm", name, lock.Packages[at].Version)
	}
	return nil
}

// namePip reads the names of the metadata folders of packages.
func (i *installation) namePip() error {
	infos, err := fs.Glob(i.p.Workspace.Root.FS(), path.Join(installDir, "out", toolapi.PackagesPip, "*.dist-info"))
	if err != nil {
		return err
	}
	for _, info := range infos {
		name, version, _ := strings.Cut(strings.TrimSuffix(path.Base(info), ".dist-info"), "-")
		i.name("pip", name, version)
	}
	return nil
}
