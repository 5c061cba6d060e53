// SPDX-License-Identifier: Apache-2.0

package toolapi

import "testing"

func TestSHA256(t *testing.T) {
	t.Parallel()
	if got, want := SHA256([]byte("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
