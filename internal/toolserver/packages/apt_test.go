// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/packageindex"
)

// debianIndex has packages for apt: tiny-program needs tiny-part, and its maintainer scripts leave a file.
func debianIndex(mark string) *packageindex.Index {
	script := "#!/bin/sh\ntouch " + mark + "\n"
	return packageindex.New(nil, nil, []packageindex.Package{
		{
			Name: "tiny-program", Version: "2.0", Files: map[string]string{"DEBIAN/preinst": script, "DEBIAN/postinst": script},
			Programs: map[string]string{"tiny-program": "#!/bin/sh\ncat \"${0%/bin/*}/share/tiny/part\"\n"}, Needs: map[string]string{"tiny-part": "2.0"},
		},
		{Name: "tiny-part", Version: "2.0", Files: map[string]string{"usr/share/tiny/part": "tiny\n"}},
		{Name: "bash", Version: "99", Files: map[string]string{"bin/bash": "no shell"}},
		{Name: "needs-bash", Version: "2.0", Needs: map[string]string{"bash": "99"}},
	})
}

// keyringOf is a file with the key of an index, as an image has one.
func keyringOf(t *testing.T, index *packageindex.Index) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "keyring.asc")
	if err := os.WriteFile(name, []byte(index.Key()), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestInstallApt(t *testing.T) {
	needs(t, "apt-get", "--version")
	needs(t, "dpkg-deb", "--version")
	s := installing(t)
	mark := s.workspace + "/ran"
	index := debianIndex(mark)
	server := httptest.NewServer(index)
	t.Cleanup(server.Close)
	s.keyring = keyringOf(t, index)
	s.start()
	apt := func(names ...string) toolapi.InstallArgs {
		return toolapi.InstallArgs{Apt: names, AptSource: server.URL + "/debian stable main"}
	}
	r, done, u := s.install(apt("tiny-program=2.0"))
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	if diff := cmp.Diff([]string{"apt tiny-part@2.0", "apt tiny-program@2.0"}, done.Packages); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if !isFile(u.to+"/root/usr/share/tiny/part") || isFile(mark) {
		t.Errorf("what is installed: %v; that a maintainer script was run is %t", treeOf(t, u.to), isFile(mark))
	}
	for name, tt := range map[string]struct{ names, says string }{
		"another version":          {"tiny-program=3.0", "Version '3.0' for 'tiny-program' was not found"},
		"unknown":                  {"missing=1", "Unable to locate package missing"},
		"another one of the image": {"needs-bash=2.0", "apt would take bash 99"},
	} {
		if r, _, _ := s.install(apt(tt.names)); r.ErrorCode != toolapi.CodeInstallFailed || !strings.Contains(r.Output, tt.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s.stop()

	user := installing(t)
	user.packages = u.to
	user.start()
	if r := user.bash("tiny-program"); r.Output != "tiny\n" {
		t.Errorf("%+v", r)
	}
}

// The keys of the call take the place of the image's.
func TestInstallAptKeys(t *testing.T) {
	needs(t, "apt-get", "--version")
	index, other := debianIndex("/nowhere"), debianIndex("/nowhere")
	server := httptest.NewServer(index)
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		image *packageindex.Index
		call  string
		ok    bool
	}{
		"the call's":        {other, index.Key(), true},
		"one of the call's": {other, other.Key() + index.Key(), true},
		"not the call's":    {index, other.Key(), false},
		"not the image's":   {other, "", false},
		"a damaged key":     {index, strings.ReplaceAll(index.Key(), "A", "B"), false},
	} {
		s := installing(t)
		s.keyring = keyringOf(t, tt.image)
		s.start()
		r, _, _ := s.install(toolapi.InstallArgs{Apt: []string{"tiny-part=2.0"}, AptSource: server.URL + "/debian stable main", AptKeyring: tt.call})
		if refused := r.ErrorCode == toolapi.CodeInstallFailed && strings.Contains(r.Output, "is not signed"); r.OK != tt.ok || refused == tt.ok {
			t.Errorf("%s: %+v", name, r)
		}
		s.stop()
	}
}

// apt sends the token to the proxy, and verifies the source by the certificates of the call.
func TestInstallAptThroughTheProxy(t *testing.T) {
	needs(t, "apt-get", "--version")
	index := debianIndex("/nowhere")
	server := httptest.NewTLSServer(index)
	t.Cleanup(server.Close)
	s := installing(t)
	s.start()
	s.setEgress(toolapi.EgressRequest{Proxy: proxyTo(t, server.Listener.Addr().String(), testToken), Token: testToken, TimeoutMs: 10_000})
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if r, _, _ := s.install(toolapi.InstallArgs{
		Apt: []string{"tiny-program=2.0"}, AptSource: "https://example.com/debian stable main", AptKeyring: index.Key(), CABundle: authority,
	}); !r.OK {
		t.Errorf("%+v", r)
	}
}
