// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// ScanStagedVerb is the argument with which this program is to be ScanStaged.
const ScanStagedVerb = "scan-staged"

const (
	// maxStagedFiles, maxStagedBytes and stagedTimeout bound the scan of one commit. The remainder is reported.
	maxStagedFiles = 2000
	maxStagedBytes = 64 << 20
	stagedTimeout  = 20 * time.Second
	// maxStagedList is the most that the list of files is read of.
	maxStagedList = 4 << 20
	// maxStagedShown is how many findings are listed, and how many files that were not scanned.
	maxStagedShown = 20
)

// ScanStaged looks for secrets in the files that git commit is about to commit in the current folder. It writes its findings to out, and
// returns the exit status of a hook: 1 if the commit must be blocked. A secret that a file had before, on the same line, is not reported
// anew. Files beyond its bounds are let through, and reported by name. If git cannot be asked, the commit goes on: git's own message
// describes the problem better.
func ScanStaged(ctx context.Context, out io.Writer) int { return scanStaged(ctx, out, stagedTimeout) }

func scanStaged(ctx context.Context, out io.Writer, limit time.Duration) int {
	ctx, cancel := context.WithTimeout(ctx, stagedTimeout)
	defer cancel()
	files, more, err := stagedFiles(ctx)
	if err != nil {
		fmt.Fprintln(out, "the commit was not looked through for secrets:", err)
		return 0
	}
	blobs, err := openBlobs(ctx)
	if err != nil {
		fmt.Fprintln(out, "the commit was not looked through for secrets:", err)
		return 0
	}
	defer blobs.close()
	report := &stagedReport{out: out}
	left, deadline := int64(maxStagedBytes), time.Now().Add(limit)
	for i, f := range files {
		switch {
		case i >= maxStagedFiles:
			report.unseen(f.path, fmt.Sprintf("%d files of a commit are", maxStagedFiles))
		case left <= 0:
			report.unseen(f.path, fmt.Sprintf("%d MiB of a commit are", maxStagedBytes>>20))
		case time.Now().After(deadline):
			report.unseen(f.path, fmt.Sprintf("there are %d s for a commit", int(stagedTimeout.Seconds())))
		default:
			left -= blobs.look(f, report)
		}
	}
	return report.end(more)
}

// stagedReport writes the findings, and the files that were not scanned.
type stagedReport struct {
	out io.Writer
	// secrets are those that were found, skipped the files that were not looked through, or not as a whole.
	secrets, skipped int
	// late is true if a file took too long.
	late bool
}

func (r *stagedReport) found(path string, f secretscan.Finding) {
	if f.RuleID == secretscan.RuleUnfinished {
		r.late = true
		fmt.Fprintf(r.out, "%s was not looked through for secrets from line %d on: that takes too long\n", workspace.Display(path), f.Line)
		return
	}
	if r.secrets++; r.secrets <= maxStagedShown {
		fmt.Fprintf(r.out, "secret found: %s line %d, rule %s\n", workspace.Display(path), f.Line, f.RuleID)
	}
}

// unseen reports a file that was not scanned.
func (r *stagedReport) unseen(path, why string) {
	r.tell("%s was not looked through for secrets: %s\n", workspace.Display(path), why)
}

// cut reports a file of which only the beginning was scanned.
func (r *stagedReport) cut(path string, size int64) {
	r.tell("%s was not looked through for secrets behind its first %d MiB: it has %d bytes\n", workspace.Display(path), secretscan.MaxBytes>>20, size)
}

func (r *stagedReport) tell(format string, args ...any) {
	if r.skipped++; r.skipped <= maxStagedShown {
		fmt.Fprintf(r.out, format, args...)
	}
}

// end reports the remainder, and returns the exit status. more is true if there are files that are not known.
func (r *stagedReport) end(more bool) int {
	if r.skipped > maxStagedShown {
		fmt.Fprintf(r.out, "and %d further files were not looked through for secrets\n", r.skipped-maxStagedShown)
	}
	if more {
		fmt.Fprintf(r.out, "further files were not looked through for secrets: their list has more than %d MiB\n", maxStagedList>>20)
	}
	if r.secrets > maxStagedShown {
		fmt.Fprintf(r.out, "and %d more\n", r.secrets-maxStagedShown)
	}
	switch {
	case r.secrets > 0:
		fmt.Fprintln(r.out, "commit refused: take what is secret out of the files, git add them and commit again. "+
			"What is no secret, such as a made-up key of a test, can be committed with --no-verify.")
	case r.late:
		fmt.Fprintln(r.out, "commit refused: what cannot be looked through is not taken for harmless. "+
			"If there is no secret in it, it can be committed with --no-verify.")
	default:
		return 0
	}
	return 1
}

// stagedFile is a file that is added or changed by a commit.
type stagedFile struct {
	path string
	// before and now are ids of blobs; before is all zeros for a new file.
	before, now string
}

// stagedFiles are those of the commit that is being made; more is true if there are others.
func stagedFiles(ctx context.Context) (files []stagedFile, more bool, err error) {
	cmd := exec.CommandContext(ctx, "git", "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules",
		"--diff-filter=AMT")
	cmd.Env = withoutFetch()
	list, err := readOutput(cmd, maxStagedList)
	if err != nil {
		return nil, false, fmt.Errorf("git diff: %w", err)
	}
	fields := strings.Split(string(list), "\x00")
	fields = fields[:len(fields)-1] // Behind the last NUL there is nothing, or a part of a path.
	for i := 0; i+1 < len(fields); i += 2 {
		// :100644 100644 BEFORE NOW M
		change := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(change) != 5 || change[1] != "100644" && change[1] != "100755" {
			continue // A link or a submodule.
		}
		files = append(files, stagedFile{path: fields[i+1], before: change[2], now: change[3]})
	}
	return files, len(list) == maxStagedList, nil
}

// readOutput is the beginning of a program's output.
func readOutput(cmd *exec.Cmd, most int64) ([]byte, error) {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(pipe, most))
	if int64(len(content)) == most {
		_ = cmd.Process.Kill() // The remainder of its output does not matter.
		_ = cmd.Wait()
		return content, err
	}
	return content, errors.Join(err, cmd.Wait())
}

// withoutFetch is an environment in which git fetches no missing object: the process that it starts for that would outlive it, and hold its
// output open.
func withoutFetch() []string { return append(os.Environ(), "GIT_NO_LAZY_FETCH=1") }

// blobs reads objects of a repository through one git cat-file.
type blobs struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func openBlobs(ctx context.Context) (*blobs, error) {
	cmd := exec.CommandContext(ctx, "git", "cat-file", "--batch")
	cmd.Env = withoutFetch()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &blobs{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10)}, nil
}

func (b *blobs) close() {
	_ = b.in.Close()
	_ = b.cmd.Process.Kill() // It has nothing to finish.
	_ = b.cmd.Wait()
}

// look scans a file, and returns how many bytes it scanned.
func (b *blobs) look(f stagedFile, report *stagedReport) int64 {
	content, size, err := b.read(f.now)
	if err != nil {
		report.unseen(f.path, err.Error())
		return 0
	}
	read := int64(len(content))
	if bytes.IndexByte(content[:min(len(content), plaintext.SniffBytes)], 0) >= 0 {
		report.unseen(f.path, "it is not text")
		content = nil // The name may be sufficient.
	} else if size > read {
		report.cut(f.path, size)
	}
	for _, finding := range b.added(f, content) {
		report.found(f.path, finding)
	}
	return read
}

// read returns the beginning of a blob, as much of it as is looked through, and the size of the whole.
func (b *blobs) read(id string) (content []byte, size int64, err error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, 0, err
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, 0, err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return nil, 0, errors.New("git does not have it")
	}
	size, err = strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, 0, err
	}
	content = make([]byte, min(size, secretscan.MaxBytes))
	if _, err := io.ReadFull(b.out, content); err != nil {
		return nil, 0, err
	}
	_, err = io.CopyN(io.Discard, b.out, size-int64(len(content))+1)
	return content, size, err
}

// added are the findings in a file that its former content does not have on a line of the same text. An incomplete scan is always a
// finding.
func (b *blobs) added(f stagedFile, content []byte) []secretscan.Finding {
	all := secretscan.Scan(f.path, content)
	// Behind so many there may be others, which are not listed.
	if len(all) == 0 || len(all) >= secretscan.MaxFindings || strings.Trim(f.before, "0") == "" {
		return all
	}
	former, _, err := b.read(f.before)
	if err != nil {
		return all
	}
	known := make(map[string]bool)
	for line := range strings.Lines(string(former)) {
		known[strings.TrimRight(line, "\r\n")] = true
	}
	lines := strings.Split(string(content), "\n")
	var found []secretscan.Finding
	for _, finding := range all {
		if finding.RuleID == secretscan.RuleUnfinished || finding.Line > len(lines) || !known[strings.TrimRight(lines[finding.Line-1], "\r\n")] {
			found = append(found, finding)
		}
	}
	return found
}
