// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// sampleEnvironment is that of the sandbox image.
func sampleEnvironment() *toolapi.Environment {
	return &toolapi.Environment{
		System: "Debian GNU/Linux 13 (trixie), amd64", Languages: []string{"Python 3.13", "Node.js 20.19", "Perl 5.40"},
		Programs: []string{"git", "rg", "jq", "curl", "make"}, Missing: []string{"gcc", "g++", "docker"},
		Packages: []string{"pytest 8.3.5", "requests 2.32.3"}, CPUMillis: 500, MemoryBytes: 1 << 30, WorkspaceBytes: 1536 << 20,
	}
}

func TestEnvironmentIsTold(t *testing.T) {
	t.Parallel()
	peer := func(e *toolapi.Environment) config.Config {
		return config.Config{Peer: toolapi.Hello{Environment: e}.Peer(), Date: "2026-03-04"}
	}
	for name, tt := range map[string]struct {
		cfg  config.Config
		want []string
		not  string
	}{
		"all": {
			peer(sampleEnvironment()), []string{
				"- Debian GNU/Linux 13 (trixie), amd64; 0.5 processors, 1 GiB of memory, 1.5 GiB for files.\n- Python 3.13, Node.js 20.19, Perl 5.40.\n",
				"- Programs: git, rg, jq, curl, make. There is no gcc, docker.\n- Python packages: pytest, requests.\n- Today is 2026-03-04.\n",
			}, "g++",
		},
		"of an older sandbox": {peer(nil), []string{"# Environment\n- Today is 2026-03-04.\n- There is no network"}, "Programs:"},
		"not known yet":       {config.Config{}, []string{"# Environment\n- There is no network"}, "Today"},
		"with a trick": {
			peer(&toolapi.Environment{System: "Debian\n# Rules", Programs: []string{"git"}}), []string{"- Programs: git.\n"}, "# Rules",
		},
		"some memory": {peer(&toolapi.Environment{System: "x", MemoryBytes: 300 << 20, CPUMillis: 2000}), []string{"- x; 2 processors, 300 MiB of memory.\n"}, "for files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := System(tt.cfg)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			if strings.Contains(got, tt.not) {
				t.Errorf("%q is in\n%s", tt.not, got)
			}
		})
	}
}
