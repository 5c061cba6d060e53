// SPDX-License-Identifier: Apache-2.0

package printed_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/test/printed"
)

func TestTextOfManyWriters(t *testing.T) {
	var text printed.Text
	var writers sync.WaitGroup
	for range 10 {
		writers.Go(func() {
			for range 100 {
				fmt.Fprintln(&text, "line")
				_ = text.String()
			}
		})
	}
	writers.Wait()
	if got := text.String(); got != strings.Repeat("line\n", 1000) {
		t.Errorf("%d bytes of %d", len(got), 1000*len("line\n"))
	}
}
