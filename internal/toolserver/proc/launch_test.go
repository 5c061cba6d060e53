// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"
)

func TestTerminationLogIsClosed(t *testing.T) {
	abi := LandlockABI()
	if abi < MinLandlock {
		t.Skip("this kernel has no Landlock that is new enough")
	}
	dir := t.TempDir()
	for _, name := range []string{"/log", "/null"} {
		if err := os.WriteFile(dir+name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // The thread ends with the goroutine, and nothing else is confined.
		if err := closeTerminationLog(abi, dir+"/none"); err != nil {
			t.Errorf("without the file: %v", err)
		}
		if err := closeTerminationLog(abi, dir+"/log"); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(dir+"/log", []byte("x"), 0o666); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the file is open: %v", err)
		}
		if err := os.WriteFile(dir+"/null", []byte("x"), 0o666); err != nil {
			t.Errorf("the file beside it: %v", err)
		}
	}()
	<-done
}
