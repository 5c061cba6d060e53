// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

const (
	// presetWriteTimeout is the default of writeTimeout.
	presetWriteTimeout = 5 * time.Second
	// maxStderr is the most that is stored of a program's standard error.
	maxStderr = 1 << 20
)

// openProgram starts the program of a server.
func (m *Servers) openProgram(words toolapi.MCPServer) (*transport, error) {
	more, err := m.egress.Variables()
	if err != nil {
		m.log.Error("the certificates for an MCP server cannot be written", "server", words.Name, "error", err)
	}
	env := slices.Concat(m.processes.ServerVariables(words.Name), more)
	pipes, err := newStreams()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	m.noteStart()
	program, err := m.processes.StartSupervised(words.Command, env, pipes.stdin, pipes.stdout, pipes.stderr)
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("there is no program %q in the sandbox", plaintext.Bound(words.Command[0], 100))
		}
		return nil, fmt.Errorf("start it: %w", err)
	}
	go m.keepErrors(words.Name, pipes.errors)
	way := strings.Join(more, "\x00")
	flow := newTraffic(m.maxTraffic)
	return &transport{
		Transport: &mcp.IOTransport{
			// The decoder measures messages by itself.
			Reader:        &measured{ReadCloser: pipes.from, traffic: flow, message: -1},
			Writer:        &impatientWriter{pipes.to, m.writeTimeout},
			MaxLineLength: maxMessage,
		},
		traffic: flow,
		begun:   func(string) {},
		abort: sync.OnceFunc(func() {
			_ = pipes.to.Close()
			program.Stop()
			_ = pipes.from.Close()
		}),
		current: func() bool {
			now, _ := m.egress.Variables()          // It has logged a failed write.
			m.processes.ServerVariables(words.Name) // It restores files that a program changed.
			return strings.Join(now, "\x00") == way
		},
	}, nil
}

// streams are the standard streams of a program.
type streams struct {
	// stdin, stdout and stderr are the program's ends, to, from and errors the others.
	stdin, stdout, stderr, to, from, errors *os.File
}

func newStreams() (*streams, error) {
	p := &streams{}
	var errs [3]error
	p.stdin, p.to, errs[0] = os.Pipe()
	p.from, p.stdout, errs[1] = os.Pipe()
	p.errors, p.stderr, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	return p, nil
}

func (p *streams) closeTheirs() { closeAll(p.stdin, p.stdout, p.stderr) }
func (p *streams) closeOurs()   { closeAll(p.to, p.from, p.errors) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // A nil file has nothing to close.
	}
}

// impatientWriter times out on a program that does not read.
type impatientWriter struct {
	*os.File
	patience time.Duration
}

// Write writes all of p, or ends the connection.
func (w *impatientWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, err
	}
	n, err := w.File.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it does not read what it is sent: %w", err)
	}
	return n, err
}

// keepErrors stores what a program writes to standard error, for the model and people to read. It reads all of it: a program would block on
// a pipe without a reader.
func (m *Servers) keepErrors(name string, from *os.File) {
	defer from.Close()
	file := &errorFile{all: m, path: toolapi.OutputDir + "/mcp-" + name + ".txt"}
	defer file.close()
	text := &plaintext.Writer{To: file}
	_, _ = io.Copy(text, from) // Ends when the program and all that it started have.
	_ = text.Close()
}

// errorFile is a file that is made with the first text, and ends at maxStderr.
type errorFile struct {
	all    *Servers
	path   string
	file   *output.File
	size   int
	failed bool
}

// Write takes in all of p and never fails.
func (f *errorFile) Write(p []byte) (int, error) {
	if len(p) == 0 || f.size >= maxStderr || !f.open() {
		return len(p), nil
	}
	kept := plaintext.First(string(p), maxStderr-f.size)
	f.size += len(kept)
	if len(kept) < len(p) {
		f.size = maxStderr
		kept += "\n… the rest was not kept …\n"
	}
	_, err := io.WriteString(f.file, kept)
	f.failed = err != nil
	return len(p), nil
}

// open reports whether there is a file to write to, and makes it if it was not tried yet.
func (f *errorFile) open() bool {
	if f.file == nil && !f.failed {
		var err error
		f.file, err = f.all.processes.Outputs.Create(f.path, true)
		f.failed = err != nil
	}
	return !f.failed
}

func (f *errorFile) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}
