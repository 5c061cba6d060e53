// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
)

// An output by which a conversation may be shortened later is in a file as soon as the call has its result.
func TestOutputsAreKept(t *testing.T) {
	s := newSandbox(t)
	s.write("notes.txt", strings.Repeat("a line\n", 100))
	for id, test := range map[string]struct {
		tool string
		args any
		kept bool
	}{
		"long":    {toolapi.ToolBash, toolapi.BashArgs{Command: "seq 1000; exit 3"}, true},
		"code":    {toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "print('x' * 500)"}, true},
		"written": {toolapi.ToolWrite, toolapi.WriteArgs{Path: "a", Content: strings.Repeat("x", 500)}, false},
		"short":   {toolapi.ToolBash, toolapi.BashArgs{Command: "seq 10"}, false},
		"file":    {toolapi.ToolRead, toolapi.ReadArgs{Path: "notes.txt"}, false},
		"oneshot": {toolapi.ToolOneshot, toolapi.OneshotArgs{Language: toolapi.LanguagePython, Source: "print('x' * 500)"}, false},
	} {
		t.Run(id, func(t *testing.T) {
			r := s.runCall(newCallOf(t, id, test.tool, test.args))
			if !test.kept {
				if r.KeptFile != "" || isFile(s.workspace+"/"+toolapi.OutputPath(id)) {
					t.Errorf("kept: %+v", r)
				}
				return
			}
			if r.KeptFile != toolapi.OutputDir+"/"+id+".txt" || r.OutputFile != "" || s.content(r.KeptFile) != r.Output {
				t.Errorf("%q, %q holds %.100q of %.100q", r.OutputFile, r.KeptFile, s.content(r.KeptFile), r.Output)
			}
			if info, err := os.Stat(s.workspace + "/" + r.KeptFile); err != nil || info.Mode() != output.OutputMode {
				t.Errorf("%v: %v", info, err)
			}
		})
	}
	if r := s.run(toolapi.ToolList, toolapi.ListArgs{Recursive: true}); strings.Contains(r.Output, "long.txt") {
		t.Errorf("listed: %s", r.Output)
	}
}

func TestOutputThatIsCutHasOneFile(t *testing.T) {
	s := newSandbox(t)
	r := s.runCall(newCallOf(t, "long", toolapi.ToolBash, toolapi.BashArgs{Command: "seq 100000"}))
	if r.OutputFile != toolapi.OutputPath("long") || r.KeptFile != "" || !strings.Contains(s.content(r.OutputFile), "\n54321\n") {
		t.Errorf("%q, %q", r.OutputFile, r.KeptFile)
	}
}

func TestKeptOutputSurvivesTheServer(t *testing.T) {
	s := newSandbox(t)
	call := newCallOf(t, "long", toolapi.ToolBash, toolapi.BashArgs{Command: "seq 1000"})
	before := s.runCall(call)
	s.stop()
	s.start()
	if after := s.runCall(call); after != before || s.content(after.KeptFile) != before.Output {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// A value that programs were given is in no file that the server writes, as it is in no step.
func TestKeptOutputsHideValues(t *testing.T) {
	const value, line = "s3cr3t-value-of-a-token", "a-line-of-a-key-that-is-long"
	s := newSandbox(t)
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"DB_KEY": value, "LOGIN": "someone:pa55word-of-theirs", "PEM": "-----BEGIN X-----\n" + line + "\n-----END X-----\n"}})
	show := `echo "$DB_KEY"; echo "$DB_KEY" | base64; echo "${LOGIN#*:}"; echo "$PEM";`
	for id, command := range map[string]string{
		"kept": show + "seq 200",
		"cut":  show + "seq 50000; " + show + "seq 50000;" + show,
	} {
		r := s.runCall(newCallOf(t, id, toolapi.ToolBash, toolapi.BashArgs{Command: command}))
		content := s.content(toolapi.OutputPath(id))
		for _, hidden := range []string{value, "czNjcjN0LXZhbHVlLW9mLWEtdG9rZW4", "pa55word-of-theirs", line} {
			if strings.Contains(content, hidden) || content == "" {
				t.Errorf("%s: %q is in the file of %d bytes", id, hidden, len(content))
			}
		}
		if n := strings.Count(content, "<credential:db_key>"); n < 2 || !r.OK {
			t.Errorf("%s: the name is in the file %d times: %+v", id, n, r)
		}
	}
}

// A reader that waits for a line of a program in the background finds it there.
func TestLiveOutputIsReadableUpToItsLastLine(t *testing.T) {
	s := newSandbox(t)
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"DB_KEY": "s3cr3t-value-of-a-token"}})
	r := s.background(`echo "with $DB_KEY"; echo listening on port 8080; exec sleep 1000`)
	_, file := started(t, r)
	await(t, "the line of the program", func() bool { return strings.HasSuffix(s.content(file), "listening on port 8080\n") })
	if got := s.content(file); !strings.HasPrefix(got, "with <credential:db_key>\n") {
		t.Errorf("%q", got)
	}
}

// A value that is wrapped into lines is hidden as soon as its last line is there, and the lines before it are readable meanwhile.
func TestLiveOutputHidesWhatGoesOverLines(t *testing.T) {
	const value = "a-long-value-that-base64-breaks-into-several-lines-of-its-own-and-that-is-no-word"
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	wrapped := encoded[:40] + "\n" + encoded[40:80] + "\n" + encoded[80:] + "\n"
	for name, pieces := range map[string][]string{
		"by lines": strings.SplitAfter("begins\n"+wrapped+"after it\n", "\n"),
		"at once":  {"begins\n" + wrapped + "after it\n"},
		"by bytes": strings.Split("begins\n"+wrapped+"after it\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"DB_KEY": value}})
			local := toolapi.OutputPath("live")
			out, err := s.server.processes.Outputs.Create(local, true)
			if err != nil {
				t.Fatal(err)
			}
			written := ""
			for _, piece := range pieces {
				if _, err := out.Write([]byte(piece)); err != nil {
					t.Fatal(err)
				}
				written += piece
				lines := written[:strings.LastIndexByte(written, '\n')+1]
				if got, want := s.content(local), s.server.egress.Hiding().String(lines); got != want && !strings.Contains(written, wrapped[:len(wrapped)-1]) {
					t.Fatalf("after %q: %q, want %q", written, got, want)
				}
			}
			const want = "begins\n<credential:db_key>\nafter it\n"
			if got := s.content(local); got != want {
				t.Errorf("live: %q", got)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			if got := s.content(local); got != want {
				t.Errorf("complete: %q", got)
			}
		})
	}
}

func TestOldOutputsMakeRoomByNumber(t *testing.T) {
	s := newSandbox(t)
	open, err := s.server.processes.Outputs.Create(toolapi.OutputDir+"/open.txt", true)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	if err := os.Chtimes(s.workspace+"/"+toolapi.OutputDir+"/open.txt", old, old); err != nil {
		t.Fatal(err)
	}
	for i := range output.MaxOutputs {
		name := toolapi.OutputPath(fmt.Sprint("old", i))
		when := old.Add(time.Duration(i+1) * time.Second)
		if err := errors.Join(os.WriteFile(s.workspace+"/"+name, []byte("x"), 0o600), os.Chtimes(s.workspace+"/"+name, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	r := s.runCall(newCallOf(t, "new", toolapi.ToolBash, toolapi.BashArgs{Command: "seq 100"}))
	entries, err := os.ReadDir(s.workspace + "/" + toolapi.OutputDir)
	if err != nil || len(entries) != output.MaxOutputs+1 || r.KeptFile == "" {
		t.Errorf("%d files, the new one is %q: %v", len(entries), r.KeptFile, err)
	}
	for name, want := range map[string]bool{"old0": false, "old1": true, "open": true} {
		if isFile(s.workspace+"/"+toolapi.OutputPath(name)) != want {
			t.Errorf("%s is there: %t", name, !want)
		}
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
}

func TestFullWorkspaceKeepsNoOutput(t *testing.T) {
	s := newSandbox(t)
	all := output.NewStore(s.server.workspace, s.server.egress, func() error { return syscall.ENOSPC })
	long := toolapi.Result{OK: true, Output: strings.Repeat("x", 500)}
	all.Keep("full", &long, 1000)
	if long.KeptFile != "" || !strings.HasSuffix(long.Output, "x\n"+output.NotKept) || isFile(s.workspace+"/"+toolapi.OutputPath("full")) {
		t.Errorf("%+v", long)
	}
	if _, err := all.Spill(toolapi.OutputPath("full"), false)(); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
