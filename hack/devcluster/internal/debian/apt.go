// SPDX-License-Identifier: Apache-2.0

// Package debian installs the few distribution packages that cannot be built from Go modules.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
)

// Package is a Debian package and a way to see that what it brings is there already, from whatever
// source, so that other distributions are not asked for apt-get as long as nothing is missing.
type Package struct {
	Name    string
	Present func() bool
}

// Runtime lists what a running cluster calls.
func Runtime() []Package {
	return []Package{
		{Name: "iproute2", Present: program("ip")},
		{Name: "iptables", Present: program("iptables")},
		{Name: "ipset", Present: program("ipset")},
		{Name: "nftables", Present: program("nft")},
	}
}

// Build lists what building runc needs: it is the one part that uses a C library.
func Build() []Package {
	return []Package{
		{Name: "gcc", Present: program("gcc")},
		{Name: "libc6-dev", Present: file("/usr/include/stdio.h")},
		{Name: "pkg-config", Present: program("pkg-config")},
		{Name: "libseccomp-dev", Present: file("/usr/include/seccomp.h")},
	}
}

// RootFS lists what making a root file system needs.
func RootFS() []Package {
	return []Package{{Name: "mmdebstrap", Present: program("mmdebstrap")}}
}

// Install installs what is missing.
func Install(ctx context.Context, out *progress.Printer, packages []Package) error {
	var names []string
	for _, pkg := range packages {
		if !pkg.Present() {
			names = append(names, pkg.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("these packages are missing, and only root can install them: apt-get install %s", list)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("these are missing, and there is no apt-get to install them with: %s", list)
	}
	return out.During("installing packages: "+list, func() error {
		if err := aptGet(ctx, append([]string{"install"}, names...)); err == nil {
			return nil
		}
		// The lists may be missing or too old to name files that still exist.
		if err := aptGet(ctx, []string{"update"}); err != nil {
			return err
		}
		return aptGet(ctx, append([]string{"install"}, names...))
	})
}

func aptGet(ctx context.Context, args []string) error {
	args = append([]string{"-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, args...)
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(output.String()), "\n")
		return fmt.Errorf("apt-get: %w\n%s", err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return nil
}

func program(name string) func() bool {
	return func() bool {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
		// An ordinary user's PATH often lacks the folder that these programs are in.
		return file("/usr/sbin/"+name)() || file("/sbin/"+name)()
	}
}

func file(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}
