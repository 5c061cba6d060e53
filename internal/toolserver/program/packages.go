// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// withPackages adds the paths of the packages of the run's skill to the variables of programs. They are in a folder that is there before
// the server starts. Programs of the image come before those of packages: a command that runs without an approval must be the system's, and
// not a package's program of the same name. The same holds for the libraries that it loads. Python finds the modules of packages by
// pythonSetup. Node.js finds packages by require through a variable; for import it takes no variable, and the image has a link
// /node_modules.
func withPackages(env []string, dir, searchPath string) []string {
	if dir == "" {
		return env
	}
	root, python, node := filepath.Join(dir, toolapi.PackagesApt), filepath.Join(dir, toolapi.PackagesPip), filepath.Join(dir, toolapi.PackagesNPM)
	folders := existing(
		filepath.Join(node, ".bin"), filepath.Join(python, "bin"),
		filepath.Join(root, "usr/local/bin"), filepath.Join(root, "usr/bin"), filepath.Join(root, "usr/sbin"), filepath.Join(root, "bin"), filepath.Join(root, "sbin"),
	)
	env = append(env,
		"PATH="+strings.Join(append([]string{searchPath}, folders...), ":"),
		"NODE_PATH="+strings.Join(existing(node, filepath.Join(root, "usr/share/nodejs")), ":"),
	)
	if libraries := librariesIn(root); len(libraries) > 0 {
		// The folders of this variable come before the default ones. So the default folders are named first. Otherwise a package could bring a
		// library for bash, git and everything else that runs without approval.
		env = append(env, "LD_LIBRARY_PATH="+strings.Join(slices.Concat(librariesIn("/usr/local"), librariesIn("/"), libraries), ":"))
	}
	return env
}

// packageManagers are variables for package managers. Without a way out they would try for minutes to reach their registries, and print
// advice that cannot help. pip refuses to install beside Debian's packages. In the sandbox that breaks nothing: it installs below HOME.
func packageManagers(wayOut bool) []string {
	vars := []string{"PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_DISABLE_PIP_VERSION_CHECK=1"}
	if !wayOut {
		vars = append(vars, "PIP_NO_INDEX=1", "UV_OFFLINE=1", "npm_config_offline=true", "CARGO_NET_OFFLINE=true", "GOPROXY=off")
	}
	return vars
}

// pythonPackages are the folders of a skill's packages that have modules of Python.
func pythonPackages(dir string) []string {
	if dir == "" {
		return nil
	}
	return existing(filepath.Join(dir, toolapi.PackagesPip), filepath.Join(dir, toolapi.PackagesApt, "usr/lib/python3/dist-packages"))
}

// librariesIn are the folders of libraries below a root, as the linker of programs looks into them. Libraries lie in a folder that is named
// after the machine, as in x86_64-linux-gnu.
func librariesIn(root string) []string {
	var folders []string
	for _, lib := range []string{"lib", "usr/lib"} {
		named, err := filepath.Glob(filepath.Join(root, lib, "*-linux-*"))
		if err != nil {
			named = nil // A path with a star in it.
		}
		folders = append(folders, named...)
	}
	return existing(append(folders, filepath.Join(root, "lib"), filepath.Join(root, "usr/lib"))...)
}

// existing returns only those that are folders.
func existing(folders ...string) []string {
	found := make([]string, 0, len(folders))
	for _, f := range folders {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			found = append(found, f)
		}
	}
	return found
}
