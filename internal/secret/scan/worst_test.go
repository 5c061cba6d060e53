// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst has the content that keeps the scanner busiest take no more than the manager has for each of those that it looks at. The time
// is bounded by the scanner itself; what it allocates is not in use at once, it is let go with each window.
func TestWorst(t *testing.T) {
	const fileBytes, limit = 64 << 10, maxScanTime / 5 // Both are linear, and less of them is enough to measure.
	var words []string
	for _, rule := range rules().ordered {
		words = append(words, rule.keywords...)
	}
	for _, unit := range []string{
		strings.Join(words, "_ = '") + "\n", "key=", "token='aaaaaaaaaaaaaaab' ", "api_key = \"0a1B2c3D4e5F6g7H8i9J\"\n", "-----BEGIN PRIVATE KEY-----\n", "AKIAYRWSSQ3BPTB4DX7Z\n",
		"<credential:a>", "mch-abcdefghijklmnopqrstuvwxyz234567 ", "\n", "\x00", "eyJhbGciOiJIUzI1NiJ9.", "https://a:b@",
	} {
		content := bytes.Repeat([]byte(unit), fileBytes/len(unit))
		worst.Within(t, unit[:min(len(unit), 40)], worst.Cost{Stack: worst.Race * 4 << 20, Heap: worst.Race * 64 << 20, Time: 20 * limit}, func() {
			if found := scan(rules(), "", content, limit); len(found) > MaxFindings {
				t.Errorf("%d findings", len(found))
			}
		})
	}
}
