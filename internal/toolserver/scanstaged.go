// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/secretscan"
)

// ScanStagedVerb is the argument with which this program is to be ScanStaged.
const ScanStagedVerb = "scan-staged"

const (
	// maxStagedFiles, maxStagedBytes and stagedTimeout bound what is looked through for one commit. The rest is told of.
	maxStagedFiles = 2000
	maxStagedBytes = 64 << 20
	stagedTimeout  = 20 * time.Second
	// maxStagedList is the most that the list of files is read of.
	maxStagedList = 4 << 20
	// maxStagedShown is how many findings are told.
	maxStagedShown = 20
)

// ScanStaged looks for secrets in what git commit is about to commit in the current folder, tells what it finds to out, and
// gives the exit status of a hook: 1 if the commit must not be. What a file had in it before, on the same line, is not found
// anew. If git cannot be asked, the commit goes on: it will tell better what is wrong.
func ScanStaged(ctx context.Context, out io.Writer) int {
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
	left, found, deadline := int64(maxStagedBytes), 0, time.Now().Add(stagedTimeout)
	for i, f := range files {
		if left <= 0 || time.Now().After(deadline) {
			more += len(files) - i
			break
		}
		content, err := blobs.read(f.now)
		if err != nil {
			fmt.Fprintf(out, "%s was not looked through for secrets: %v\n", display(f.path), err)
			continue
		}
		left -= int64(len(content))
		for _, finding := range blobs.added(f, content) {
			if found++; found <= maxStagedShown {
				fmt.Fprintf(out, "secret found: %s line %d, rule %s\n", display(f.path), finding.Line, finding.RuleID)
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(out, "%d files were not looked through for secrets: there are too many, or they are too large\n", more)
	}
	if found == 0 {
		return 0
	}
	if found > maxStagedShown {
		fmt.Fprintf(out, "and %d more\n", found-maxStagedShown)
	}
	fmt.Fprintln(out, "commit refused: take what is secret out of the files, git add them and commit again. "+
		"What is no secret, such as a made-up key of a test, can be committed with --no-verify.")
	return 1
}

// stagedFile is a file that is added or changed by a commit.
type stagedFile struct {
	path string
	// before and now are ids of blobs; before is all zeros for a new file.
	before, now string
}

// stagedFiles are those of the commit that is being made, and how many there are beyond them.
func stagedFiles(ctx context.Context) (files []stagedFile, more int, err error) {
	cmd := exec.CommandContext(ctx, "git", "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules",
		"--diff-filter=AMT")
	list, err := readOutput(cmd, maxStagedList)
	if err != nil {
		return nil, 0, fmt.Errorf("git diff: %w", err)
	}
	fields := strings.Split(string(list), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		// :100644 100644 BEFORE NOW M
		change := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(change) != 5 || change[1] != "100644" && change[1] != "100755" {
			continue // A link or a submodule.
		}
		if len(files) == maxStagedFiles {
			more++
			continue
		}
		files = append(files, stagedFile{path: fields[i+1], before: change[2], now: change[3]})
	}
	return files, more, nil
}

// readOutput is the beginning of what a program prints.
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
		_ = cmd.Process.Kill() // What else it has to say does not count.
		_ = cmd.Wait()
		return content, err
	}
	return content, errors.Join(err, cmd.Wait())
}

// blobs reads objects of a repository through one git cat-file.
type blobs struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func openBlobs(ctx context.Context) (*blobs, error) {
	cmd := exec.CommandContext(ctx, "git", "cat-file", "--batch")
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

// read gives the beginning of a blob, as much of it as is looked through.
func (b *blobs) read(id string) ([]byte, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, err
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return nil, errors.New("git does not have it")
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, err
	}
	content := make([]byte, min(size, secretscan.MaxBytes))
	if _, err := io.ReadFull(b.out, content); err != nil {
		return nil, err
	}
	_, err = io.CopyN(io.Discard, b.out, size-int64(len(content))+1)
	return content, err
}

// added are the findings in a file that its former content does not have on a line of the same text.
func (b *blobs) added(f stagedFile, content []byte) []secretscan.Finding {
	if bytes.IndexByte(content[:min(len(content), sniffBytes)], 0) >= 0 {
		content = nil // Not text. The name may say enough.
	}
	all := secretscan.Scan(f.path, content)
	if len(all) == 0 || strings.Trim(f.before, "0") == "" {
		return all
	}
	former, err := b.read(f.before)
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
		if finding.Line > len(lines) || !known[strings.TrimRight(lines[finding.Line-1], "\r\n")] {
			found = append(found, finding)
		}
	}
	return found
}
