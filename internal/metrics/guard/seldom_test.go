// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

func TestErrorsAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var lines []string
	now := time.Unix(1000, 0)
	log := seldom(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}), func() time.Time { return now })
	for range 120 {
		log.Error(errors.New("no such token"), "refused")
		now = now.Add(time.Second)
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `"notLogged"=0`) || !strings.Contains(lines[1], `"notLogged"=59`) {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	seldom(logr.Logger{}, time.Now).Error(nil, "a logger without a sink writes nothing")
}
