// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/websearch"
)

func TestSearXNG(t *testing.T) {
	program := exec.CommandContext(t.Context(), "python3", "-c", SearXNG, "0")
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not listen: %v", err)
	}
	const key = "search-key-0123456789"
	provider := websearch.Provider{Type: websearch.SearXNG, URL: "http://127.0.0.1:" + strings.TrimSpace(port), APIKey: secret.New(key)}
	got, err := provider.Search(t.Context(), "doors & windows", 10)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(key))
	want := []websearch.Result{
		{Title: "About doors & windows", URL: "https://example.org/about", Snippet: "All about it & more."},
		{Title: "Keys", URL: "https://example.org/keys", Snippet: "given [" + key + "] digest [" + hex.EncodeToString(digest[:]) + "]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
