// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run([]string{"-title", "the loop", "-under", "motorloop.(*Loop).Run", "-least", "1"}, strings.NewReader(traces), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "<svg ") || !strings.HasSuffix(got, "</svg>\n") || !strings.Contains(got, "json.Marshal 60.0 %") || !strings.Contains(got, "the loop") {
		t.Errorf("%s", got)
	}
	for _, args := range [][]string{{"-least", "0"}, {"-least", "101"}, {"-none"}} {
		if err := run(args, strings.NewReader(traces), io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
