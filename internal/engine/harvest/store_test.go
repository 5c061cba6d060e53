// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

// A person reads a text with kubectl; whatever is no text comes back byte for byte.
func TestContent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content string
		text    bool
	}{
		"text":                   {"# Report\r\n\tTotal: 5 €\n", true},
		"markup":                 {"<b>&amp;</b>", true},
		"nothing":                {"", true},
		"no UTF-8":               {"\x89PNG\xff", false},
		"a character cut off":    {"5 \xe2\x82", false},
		"a NUL":                  {"a\x00b", false},
		"colours of a terminal":  {"\x1b[31mred\x1b[0m", false},
		"nothing but characters": {strings.Repeat("\x01", 1<<10), false},
	} {
		cm := &corev1.ConfigMap{}
		setContent(cm, []byte(tt.content))
		if _, text := cm.Data["content"]; text != tt.text || text == (cm.BinaryData != nil) {
			t.Errorf("%s: data %q, binaryData %q", name, cm.Data, cm.BinaryData)
		}
		if got, ok := runenv.ValueOf(cm, runenv.ContentKey); !ok || string(got) != tt.content {
			t.Errorf("%s: comes back as %q", name, got)
		}
	}
}
