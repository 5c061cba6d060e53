// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"strings"
	"syscall"
	"testing"
)

func TestSizesOf(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want Sizes
		fail string
	}{
		"a manager of before": {nil, Sizes{}, ""},
		"all":                 {map[string]string{EnvWorkspace: "1073741824", EnvTemp: "5", EnvState: "6"}, Sizes{1 << 30, 5, 6}, ""},
		"no number":           {map[string]string{EnvTemp: "1Gi"}, Sizes{}, EnvTemp},
		"zero":                {map[string]string{EnvState: "0"}, Sizes{}, EnvState},
		"negative":            {map[string]string{EnvWorkspace: "-1"}, Sizes{}, EnvWorkspace},
		"more than fits":      {map[string]string{EnvWorkspace: "9223372036854775808"}, Sizes{}, EnvWorkspace},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SizesOf(func(name string) string { return test.env[name] })
			if got != test.want || (err == nil) != (test.fail == "") || err != nil && !strings.Contains(err.Error(), test.fail) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestInodes(t *testing.T) {
	for size, want := range map[int64]int64{1: 16 << 10, 64 << 20: 16 << 10, 1 << 30: 256 << 10, 4 << 30: 1 << 20, 1 << 60: 1 << 20} {
		if got := Inodes(size); got != want {
			t.Errorf("%d bytes: %d inodes, want %d", size, got, want)
		}
	}
}

func TestEndedByLimit(t *testing.T) {
	const exited = 8 // The status of a process that exited has it above this bit.
	for status, want := range map[syscall.WaitStatus]bool{
		0: false, 1 << exited: false, 153 << exited: true, 25: true, 9: false, 25 << exited: false, 137 << exited: false,
	} {
		if got := EndedByLimit(status); got != want {
			t.Errorf("%#x: %v", int(status), got)
		}
	}
}
