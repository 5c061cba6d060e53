// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package traps makes a workspace as a hostile program could leave it, for tests.
package traps

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Secret is what the file beside the workspace has in it.
const Secret = "the secret outside of the workspace"

// Fill fills a workspace with links, pipes and sockets, and with the file dir/file. It returns the path of a file beside the workspace
// that has Secret in it.
func Fill(t testing.TB, workspace string) (outside string) {
	t.Helper()
	outside = filepath.Join(filepath.Dir(workspace), "secret")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(outside, []byte(Secret), 0o644))
	must(os.MkdirAll(workspace+"/dir/sub", 0o755))
	must(os.WriteFile(workspace+"/dir/file", []byte("inside\n"), 0o644))
	must(os.Symlink(outside, workspace+"/abs"))
	must(os.Symlink("../secret", workspace+"/rel"))
	must(os.Symlink("..", workspace+"/up"))
	must(os.Symlink("/", workspace+"/rootlink"))
	must(os.Symlink("dir", workspace+"/good"))
	must(os.Symlink("loop", workspace+"/loop"))
	must(os.Symlink("nowhere", workspace+"/dangling"))
	must(os.Symlink("../newfile", workspace+"/newout"))
	must(syscall.Mkfifo(workspace+"/pipe", 0o644))
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", workspace+"/socket")
	must(err)
	t.Cleanup(func() { _ = ln.Close() })
	must(os.Symlink("pipe", workspace+"/topipe"))
	return outside
}
