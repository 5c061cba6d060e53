// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// aptDir is the folder below installDir for the files that apt otherwise stores in the system's folders.
	aptDir = "apt"
	// dpkgStatus lists the packages that are installed in the image.
	dpkgStatus = "/var/lib/dpkg/status"
)

// aptConfig is apt's whole configuration: it reads no other file. apt takes no lock, because it would need to be root for that. %[1]s is
// the folder that it works in.
const aptConfig = `Dir::State "%[1]s/state";
Dir::State::status "` + dpkgStatus + `";
Dir::Cache "%[1]s/cache";
Dir::Log "%[1]s/log";
Dir::Etc "%[1]s/etc";
Debug::NoLocking "true";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
`

// apt gets packages of the distribution, and those that they need and the image has not, and unpacks them into out/root. It runs no program
// of theirs, so a package's installation scripts have no effect.
func (i *installation) apt(ctx context.Context) error {
	if len(i.args.Apt) == 0 {
		return nil
	}
	if err := i.setUpApt(); err != nil {
		return err
	}
	if err := i.run(ctx, "apt-get", []string{"update", "--error-on=any"}); err != nil {
		return err
	}
	args := []string{"install", "--download-only", "--yes", "--no-remove", "--allow-downgrades", "--"}
	if err := i.run(ctx, "apt-get", append(args, i.args.Apt...)); err != nil {
		return err
	}
	archives := path.Join(installDir, aptDir, "cache", "archives")
	debs, err := fs.Glob(i.p.Workspace.Root.FS(), archives+"/*.deb")
	if err != nil {
		return err
	}
	if err := i.checkDebs(debs); err != nil {
		return err
	}
	for _, deb := range debs {
		args := []string{"--extract", filepath.Join(i.p.Workspace.Dir, deb), i.out(toolapi.PackagesApt)}
		if err := i.run(ctx, "dpkg-deb", args); err != nil {
			return err
		}
	}
	return nil
}

// setUpApt makes the folders and files that apt works with.
func (i *installation) setUpApt() error {
	root, base := i.p.Workspace.Root, path.Join(installDir, aptDir)
	for _, sub := range []string{
		"state/lists/partial", "cache/archives/partial", "log",
		"etc/preferences.d", "etc/sources.list.d", "etc/apt.conf.d", "etc/auth.conf.d", "etc/trusted.gpg.d",
	} {
		if err := root.MkdirAll(path.Join(base, sub), 0o755); err != nil {
			return err
		}
	}
	if err := root.MkdirAll(path.Join(installDir, "out", toolapi.PackagesApt), 0o755); err != nil {
		return err
	}
	own := filepath.Join(i.dir, aptDir)
	config := fmt.Sprintf(aptConfig, own)
	if file := i.variable("SSL_CERT_FILE"); file != "" {
		config += fmt.Sprintf("Acquire::https::CAInfo %q;\n", file)
	}
	keys, err := i.aptKeys()
	if err != nil {
		return err
	}
	source := "deb [signed-by=" + keys + "] " + i.args.AptSource + "\n"
	if keys == "" {
		// The image is of another distribution. apt finds that distribution's keys among its own.
		source = "deb " + i.args.AptSource + "\n"
		config += `Dir::Etc::trustedparts "/etc/apt/trusted.gpg.d";` + "\n"
	}
	for name, content := range map[string]string{"apt.conf": config, "etc/sources.list": source} {
		if err := root.WriteFile(path.Join(base, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	i.env = append(i.env, "APT_CONFIG="+filepath.Join(own, "apt.conf"), "DEBIAN_FRONTEND=noninteractive")
	return nil
}

// aptKeys is the file with the keys that the source must be signed with: those of the call, or else those of the image. It is
// "" if there are none.
func (i *installation) aptKeys() (string, error) {
	if i.args.AptKeyring == "" {
		if isFile(i.keyring) {
			return i.keyring, nil
		}
		return "", nil
	}
	local := path.Join(installDir, aptDir, "etc", "keyring.asc") // By this ending apt takes it for armored.
	err := i.p.Workspace.Root.WriteFile(local, []byte(i.args.AptKeyring), 0o644)
	return filepath.Join(i.p.Workspace.Dir, local), err
}

// variable is what programs get under that name, "" if nothing.
func (i *installation) variable(name string) string {
	for _, v := range slices.Backward(i.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// checkDebs looks at what apt got, by the names of the files: NAME_VERSION_ARCHITECTURE.deb. A package that the image has in
// another version was got because something needs that. It would be mixed with the image's own, and where it is a library,
// no program would run any more.
func (i *installation) checkDebs(debs []string) error {
	has, err := installedPackages()
	if err != nil {
		return notInstalled("What is installed in the sandbox's image cannot be read: %v.", err)
	}
	for _, deb := range debs {
		name, rest, _ := strings.Cut(path.Base(deb), "_")
		version, _, _ := strings.Cut(rest, "_")
		if plain, err := url.PathUnescape(version); err == nil {
			version = plain
		}
		if has[name] && (strings.HasPrefix(name, "lib") || !i.asksFor(name)) {
			return notInstalled("apt would take %s %s, which the sandbox's image has in another version. "+
				"Ask for a version of the packages that fits the image, or have them in the image.", name, version)
		}
		i.name("apt", name, version)
	}
	return nil
}

func (i *installation) asksFor(name string) bool {
	return slices.ContainsFunc(i.args.Apt, func(s string) bool { n, _, _ := strings.Cut(s, "="); return n == name })
}

// installedPackages are the names of the packages of the image.
func installedPackages() (map[string]bool, error) {
	file, err := os.Open(dpkgStatus)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	has, name := map[string]bool{}, ""
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch key, value, _ := strings.Cut(lines.Text(), ": "); key {
		case "Package":
			name = value
		case "Status":
			has[name] = strings.HasSuffix(value, " installed")
		}
	}
	return has, lines.Err()
}
