// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst checks that a sandbox's answers take no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	fill := func(before, unit string, size int) string {
		return before + strings.Repeat(unit, (size-len(before))/len(unit))
	}
	for _, c := range []struct {
		into func() any
		text string
	}{
		{func() any { return new(toolapi.MCPResponse) }, fill(`{"servers":[`, `{},`, maxMCPAnswer)},
		{func() any { return new(toolapi.MCPResponse) }, fill(`{"servers":[{"tools":[`, `{},`, maxMCPAnswer)},
		{func() any { return new(toolapi.MCPResponse) }, fill(`{"servers":[{"tools":[{"inputSchema":`, `[`, maxMCPAnswer)},
		{func() any { return new(toolapi.MCPResponse) }, fill(`{"servers":[{"tools":[{"inputSchema":[`, `{},`, maxMCPAnswer)},
		{func() any { return new(toolapi.ProbeResponse) }, fill(`{"results":[`, `{},`, maxAnswerBytes)},
		{func() any { return new(toolapi.Result) }, fill(`{"output":"`, `\u0000`, maxAnswerBytes)},
		{func() any { return new(toolapi.CallState) }, fill(`{"result":`, `{"result":`, maxAnswerBytes)},
	} {
		worst.Within(t, c.text[:40], worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 24 << 20, Time: time.Minute}, func() {
			for _, end := range []string{"", "{}]}", "{}]}]}", "0]}]}]}", `"}`} {
				text := []byte(c.text + end)
				if jsonbound.Check(text, answerLimits) == nil {
					_ = json.Unmarshal(text, c.into()) // Most of it is no JSON.
				}
			}
		})
	}
	// The largest allowed tools of a server are read.
	schema := `{"type":"object","properties":{` + strings.Repeat(`"a":{"enum":[1,2]},`, 800) + `"b":{}}}`
	tools := strings.Repeat(`{"name":"t","description":"","inputSchema":`+schema+`},`, toolapi.MaxMCPTools-1) + `{"name":"t","inputSchema":{}}`
	all := `{"servers":[` + strings.Repeat(`{"name":"s","tools":[`+tools+`]},`, toolapi.MaxMCPServers-1) + `{}]}`
	if err := jsonbound.Check([]byte(all), answerLimits); err != nil || len(all) > maxMCPAnswer {
		t.Errorf("%d bytes: %v", len(all), err)
	}
}
