// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	installUsage = `"npm", "pip" and "apt", each with "npmRegistry", "pipIndex" or "aptSource" and "aptKeyring"`
	// installTimeout is for everything together.
	installTimeout = 10 * time.Minute
	// installDir is the folder in the workspace for the time of the installation.
	installDir = workspace.OwnDir + "/install"
	// maxLog is the most that is retained of a program's output, maxWhy the most of it that an error shows.
	maxLog = 64 << 10
	maxWhy = 1500
)

// errTime ends an installation that takes too long.
var errTime = errors.New("it was not done within 10 minutes")

// Installer is the install tool.
type Installer struct {
	programs *program.Runner
	// keyring is the path of a file.
	keyring string
}

// NewInstaller makes the tool. keyring is the file with the keys that packages of the distribution are signed with.
func NewInstaller(p *program.Runner, keyring string) *Installer {
	return &Installer{programs: p, keyring: keyring}
}

// Tools are the tools of packages, by their names.
func (t *Installer) Tools() map[string]tool.Tool {
	return map[string]tool.Tool{toolapi.ToolInstall: {Alone: true, Limit: toolapi.MaxOutputBytes, Run: t.install}}
}

// installation is one call of it. Nothing of a package is run: npm runs no scripts, pip takes wheels only, and packages of the
// distribution are unpacked.
type installation struct {
	p       *program.Runner
	keyring string
	job     tool.Job
	args    toolapi.InstallArgs
	// dir is installDir, absolute.
	dir string
	env []string
	// names are those of the installed packages.
	names []string
}

// failure is why there is no archive.
type failure struct{ code, message string }

func (e *failure) Error() string { return e.message }

func notInstalled(format string, args ...any) error {
	return &failure{toolapi.CodeInstallFailed, fmt.Sprintf(format, args...)}
}

// install installs packages and packs them into toolapi.InstallArchive. It first removes the results of an earlier call, so that a repeated
// call does the same again.
func (t *Installer) install(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.InstallArgs
	if bad := tool.Decode(j.Args, &args, installUsage); bad != nil {
		return *bad
	}
	if wrong := check(args); wrong != "" {
		return tool.Failure(toolapi.CodeInvalidArguments, "%s", wrong)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, installTimeout, errTime)
	defer cancel()
	w := t.programs.Workspace
	i := &installation{p: t.programs, keyring: t.keyring, job: j, args: args, dir: filepath.Join(w.Dir, installDir)}
	archive, err := i.install(ctx)
	_ = w.Root.RemoveAll(installDir) // Remains only take space.
	if err != nil {
		return i.failed(ctx, err)
	}
	return tool.Success(text.JSON(toolapi.InstallResult{SHA256: archive.sha256, Size: archive.size, Packages: i.names}))
}

// failed is the envelope of an installation that came to nothing.
func (i *installation) failed(ctx context.Context, err error) toolapi.Result {
	var why *failure
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, tool.ErrCancelled), errors.Is(cause, tool.ErrStopped):
		return tool.Interrupted(ctx, "while it installed the packages")
	case cause != nil:
		return tool.Failure(toolapi.CodeInstallFailed, "%v", errTime)
	case errors.As(err, &why):
		return tool.ForeignFailure(why.code, "%s", why.message)
	case errors.Is(err, errTooLarge):
		return tool.Failure(toolapi.CodeInstallTooLarge, "%v", err)
	}
	return i.p.Workspace.Failure("install packages in", installDir, err)
}

var installable = regexp.MustCompile(`^[A-Za-z0-9@][^\s\x00]*$`)

// check describes a problem with the arguments. No argument may be mistaken for an option.
func check(args toolapi.InstallArgs) string {
	for _, kind := range []struct {
		name, source string
		packages     []string
	}{{"npm", args.NPMRegistry, args.NPM}, {"pip", args.PipIndex, args.Pip}, {"apt", args.AptSource, args.Apt}} {
		if i := slices.IndexFunc(kind.packages, func(s string) bool { return !installable.MatchString(s) }); i >= 0 {
			return fmt.Sprintf("%s has %q, which is no package", kind.name, plaintext.Bound(kind.packages[i], 64))
		}
		if len(kind.packages) > 0 && (!strings.HasPrefix(kind.source, "http") || strings.ContainsAny(kind.source, "\n\r\x00")) {
			return kind.name + " has packages, and no address that they come from"
		}
	}
	if len(args.NPM)+len(args.Pip)+len(args.Apt) == 0 {
		return "there is nothing to install"
	}
	return ""
}

func (i *installation) install(ctx context.Context) (packed, error) {
	root := i.p.Workspace.Root
	if err := root.RemoveAll(installDir); err != nil {
		return packed{}, err
	}
	for _, sub := range []string{"out", "home", "tmp"} {
		if err := root.MkdirAll(path.Join(installDir, sub), 0o755); err != nil {
			return packed{}, err
		}
	}
	if err := i.environment(); err != nil {
		return packed{}, err
	}
	for _, step := range []func(context.Context) error{i.npm, i.pip, i.apt} {
		if err := step(ctx); err != nil {
			return packed{}, err
		}
	}
	for _, sub := range []string{"home", "tmp", aptDir} {
		if err := root.RemoveAll(path.Join(installDir, sub)); err != nil {
			return packed{}, err
		}
	}
	return i.pack(ctx)
}

// out is the folder that is packed, or a path below it.
func (i *installation) out(sub ...string) string {
	return filepath.Join(append([]string{i.dir, "out"}, sub...)...)
}

// environment is that of other programs, with folders of their own and the certificates of the image: npm and pip bring others.
func (i *installation) environment() error {
	env, note := i.p.Environment(i.job)
	if note != "" {
		return notInstalled("%s", note)
	}
	own, named := []string{}, []string{}
	if file := i.p.Egress.SystemCAs; isFile(file) {
		own = append(own, "NODE_EXTRA_CA_CERTS="+file, "PIP_CERT="+file)
	}
	if i.args.CABundle != "" {
		file, err := i.writeAuthorities()
		if err != nil {
			return err
		}
		named = append(named, "NODE_EXTRA_CA_CERTS="+file, "PIP_CERT="+file, "SSL_CERT_FILE="+file)
	}
	i.env = slices.Concat(own, env, []string{
		"HOME=" + filepath.Join(i.dir, "home"), "TMPDIR=" + filepath.Join(i.dir, "tmp"),
		"PYTHONPATH=", "NODE_PATH=", "LD_LIBRARY_PATH=", "PIP_CONFIG_FILE=" + os.DevNull,
	}, named)
	return nil
}

// writeAuthorities returns a file with the image's certificates and those of the call.
func (i *installation) writeAuthorities() (string, error) {
	var content []byte
	if image := i.p.Egress.SystemCAs; isFile(image) {
		var err error
		if content, err = os.ReadFile(image); err != nil {
			return "", err
		}
	}
	local := path.Join(installDir, "home", "authorities.pem")
	err := i.p.Workspace.Root.WriteFile(local, append(append(content, '\n'), i.args.CABundle...), 0o644)
	return filepath.Join(i.p.Workspace.Dir, local), err
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// npm installs into out/node_modules. Packages of a Git repository are not taken: npm would build them.
func (i *installation) npm(ctx context.Context) error {
	if len(i.args.NPM) == 0 {
		return nil
	}
	if proxy := i.variable("HTTPS_PROXY"); proxy != "" {
		r, err := startRelay(ctx, proxy)
		if err != nil {
			return notInstalled("%v.", err)
		}
		defer r.close()
		before := i.env
		defer func() { i.env = before }()
		i.env = slices.Concat(before, []string{"HTTPS_PROXY=" + r.address(), "https_proxy=" + r.address(), "HTTP_PROXY=", "http_proxy="})
	}
	home := filepath.Join(i.dir, "home")
	args := []string{
		"install", "--prefix", i.out(), "--registry", i.args.NPMRegistry, "--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund",
		"--no-progress", "--no-update-notifier", "--loglevel=error", "--git=/bin/false", "--cache", filepath.Join(i.dir, "tmp", "npm"),
		// npm requires two different paths here, and the files need not exist.
		"--userconfig", filepath.Join(home, "npmrc"), "--globalconfig", filepath.Join(home, "npmrc-global"), "--",
	}
	if err := i.run(ctx, "npm", append(args, i.args.NPM...)); err != nil {
		return err
	}
	return i.nameNPM()
}

// pip installs wheels into out/python: a package that has to be built would run its own code.
func (i *installation) pip(ctx context.Context) error {
	if len(i.args.Pip) == 0 {
		return nil
	}
	args := []string{
		"-m", "pip", "install", "--target", i.out(toolapi.PackagesPip), "--index-url", i.args.PipIndex, "--only-binary=:all:", "--no-input", "--no-compile",
		"--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off", "--no-color", "--root-user-action=ignore", "--",
	}
	if err := i.run(ctx, "python3", append(args, i.args.Pip...)); err != nil {
		return err
	}
	return i.namePip()
}

// run runs a program to its end.
func (i *installation) run(ctx context.Context, name string, args []string) error {
	exe, err := i.p.Find(name)
	if err != nil {
		return notInstalled("The sandbox's image has no %s.", name)
	}
	log := &lastText{}
	end, err := i.p.Execute(ctx, exe, program.Program{Name: name, Args: args, Dir: i.out(), Env: i.env, Timeout: installTimeout}, log)
	switch {
	case err != nil:
		return notInstalled("%s", program.StartFailure(name, err).Output)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case end.Left > 0:
		return notInstalled("%d processes of %s could not be ended.", end.Left, name)
	case end.Status.Exited() && end.Status.ExitStatus() == 0:
		return nil
	case end.Status.Exited():
		return notInstalled("%s ended with status %d: %s", name, end.Status.ExitStatus(), whyFailed(string(log.text)))
	}
	return notInstalled("%s was killed by signal %d (%v), perhaps for want of memory.", name, end.Status.Signal(), end.Status.Signal())
}

// lastText keeps the end of a text.
type lastText struct{ text []byte }

// Write takes in all of p and never fails.
func (l *lastText) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if over := len(l.text) - maxLog; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

var (
	// complaints begin the error lines of npm, pip and apt; chatter is noise that npm adds to them.
	complaints = regexp.MustCompile(`^(npm (ERR!|error) |ERROR: |E: |dpkg-deb: error: |No module named )`)
	chatter    = regexp.MustCompile(`^npm (ERR!|error) (A complete log|Log files were not|    |$)`)
)

// whyFailed extracts the reason of a failure from a program's output.
func whyFailed(log string) string {
	var said []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); complaints.MatchString(line) && !chatter.MatchString(line) {
			said = append(said, line)
		}
	}
	if len(said) > 0 {
		return plaintext.First(strings.Join(said, "\n"), maxWhy)
	}
	return strings.ToValidUTF8(log[max(0, len(log)-maxWhy):], "")
}

// pack makes the archive.
func (i *installation) pack(ctx context.Context) (packed, error) {
	root := i.p.Workspace.Root
	out, err := root.OpenRoot(path.Join(installDir, "out"))
	if err != nil {
		return packed{}, err
	}
	defer func() { _ = out.Close() }()
	file, err := i.p.Workspace.Create(toolapi.InstallArchive)
	if err != nil {
		return packed{}, err
	}
	archive, err := pack(ctx, out, file)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = root.Remove(toolapi.InstallArchive) // The error that led here is more useful.
		return packed{}, err
	}
	return archive, nil
}
