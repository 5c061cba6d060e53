// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// hostile are answers of a provider that try to exhaust the manager.
func hostile() []string {
	fill := func(before, unit string) string {
		return before + strings.Repeat(unit, (maxBody-len(before)-8)/len(unit))
	}
	return []string{
		fill(`{"results":[`, `{},`) + "{}]}", fill(`{"web":{"results":[`, `{},`) + "{}]}}", fill(`{"results":`, `[`), fill(`{"results":[{"title":"`, `<b>`) + `"}]}`,
		fill(`{"results":[{"content":"`, `<!--`) + `"}]}`, fill(`{"results":[{"content":"`, `<a `) + `"}]}`, fill(`{"results":[{"content":"`, `&amp;`) + `"}]}`,
	}
}

// TestWorst checks that an answer takes no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	for _, kind := range []Type{SearXNG, Brave} {
		for _, body := range hostile() {
			worst.Within(t, body[:40], worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 32 << 20, Time: 30 * time.Second}, func() {
				found, err := Provider{Type: kind}.parse([]byte(body))
				if err != nil {
					return
				}
				clean(found, 20)
			})
		}
	}
}
