// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
)

// The demands of a task are in the prompt, and the value is offered only if there is a schema for it.
func TestDemandsAreTold(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Tools: []string{"bash"}, MaxIterations: 20, Accept: config.Acceptance{
		Files: []string{"a\n# b"}, Schemas: []string{"{\n  \"type\": \"object\"\n}"},
		Commands: []config.AcceptCommand{{Command: "make\ntest", TimeoutSeconds: 30}, {Command: strings.Repeat("é", 2000), TimeoutSeconds: 1}},
	}}
	prompt := System(cfg)
	for _, want := range []string{
		`- the workspace has "a\n# b"`, `within 30 s: "make\ntest"`, `fits this JSON schema: {"type":"object"}`, "After 3 times the attempt ends.",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("%q is missing in %s", want, prompt)
		}
	}
	if n := len(prompt) - len(System(config.Config{Tools: []string{"bash"}, MaxIterations: 20})); n > 2500 {
		t.Errorf("the demands take %d bytes", n)
	}
	parameters := func(cfg config.Config) string {
		defs := cfg.Definitions(catalog.Builtin())
		return string(defs[len(defs)-1].Parameters)
	}
	with, without := parameters(cfg), parameters(config.Config{})
	if !strings.Contains(with, `"value"`) || strings.Contains(without, `"value"`) || !strings.Contains(without, `"summary"`) {
		t.Errorf("with a schema: %s\nwithout: %s", with, without)
	}
}
