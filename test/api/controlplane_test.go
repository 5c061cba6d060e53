// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// assetsEnv names the folder with etcd and kube-apiserver for a copy of this binary that is to become one of them.
const assetsEnv = "MOTOR_TEST_CONTROL_PLANE"

// controlPlanePrograms makes a folder in which etcd and kube-apiserver are this binary. What is started from it becomes the real
// program, and is ended by the kernel when this process is: a test that panics, runs out of time or is killed leaves none behind.
func controlPlanePrograms() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "controlplane")
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.Symlink(self, filepath.Join(dir, "etcd")), os.Symlink(self, filepath.Join(dir, "kube-apiserver")),
		os.Setenv(assetsEnv, os.Getenv("KUBEBUILDER_ASSETS")),
	)
	return dir, err
}

// isControlPlane reports whether this process is to become a program of the control plane.
func isControlPlane() bool {
	name := filepath.Base(os.Args[0])
	return os.Getenv(assetsEnv) != "" && (name == "etcd" || name == "kube-apiserver")
}

// becomeControlPlane returns only if it fails, with the exit status.
func becomeControlPlane() int {
	program := filepath.Join(os.Getenv(assetsEnv), filepath.Base(os.Args[0]))
	runtime.LockOSThread() // The signal is of a thread, and this one becomes the program.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "ask to be ended with the tests:", errno)
		return 1
	}
	err := syscall.Exec(program, os.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "become %s: %v\n", program, err)
	return 1
}
