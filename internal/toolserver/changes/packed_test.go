// SPDX-License-Identifier: Apache-2.0

//go:build linux

package changes

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
)

// A section that packs its content is looked through unpacked, whichever side is no text: packed, a secret shows nowhere.
func TestCollectLooksThroughWhatItPacks(t *testing.T) {
	t.Parallel()
	const key = "id = AKIA" + "YRWSSQ3BPTB4DX7Z\n"
	binary := text("a\x00b")
	w := newWorld(t, tree{"logo.bin": binary, "logo.dat": binary, "value.dat": binary, "large.dat": binary, "fine.dat": binary, "gone.dat": binary})
	w.put(map[string]string{
		"logo.bin": key, "logo.dat": key, "value.dat": "the-value-of-a-credential", "large.dat": strings.Repeat("x\n", maxBinaryBytes), "fine.dat": "text now\n",
	})
	must(t, os.Remove(w.path("gone.dat")))
	r := Collect(t.Context(), w.req)
	secret := "it holds what looks like a secret (aws-access-token)"
	w.leftOut(r, map[string]string{
		"logo.bin": secret, "logo.dat": secret, "value.dat": whyValue, "large.dat": "it has 524288 bytes, and one that is or was no text may have 256 KiB in the diff",
	})
	got := w.applied(r)
	if _, there := got["gone.dat"]; there || string(got["fine.dat"].content) != "text now\n" {
		t.Errorf("%+v", got)
	}
	w.unpacked(r, 1)
}

// unpacked has what looks the diff through again unpack all of it. How many contents there are does not count those of files that are gone.
func (w *world) unpacked(r Result, want int) {
	w.Helper()
	n := 0
	for p, err := range secretscan.Unpack(r.Diff) {
		if err != nil {
			w.Fatalf("%s: %v", p.Path, err)
		}
		if len(p.Content) > 0 {
			n++
		}
	}
	if n != want {
		w.Errorf("%d contents are packed, want %d", n, want)
	}
}

// No diff packs more than is unpacked, and files that are omitted for that are reported.
func TestCollectPacksWithinBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{})
	const most = secretscan.MaxPackedTotal / maxBinaryBytes
	for i := range most + 3 {
		must(w, os.WriteFile(w.path(fmt.Sprintf("zeros-%d", i)), append(bytes.Repeat([]byte{0}, maxBinaryBytes-1), byte(i)), 0o644))
	}
	r := Collect(t.Context(), w.req)
	w.unpacked(r, most)
	if len(r.LeftOut) != 3 || r.LeftOut[0].Why != whyManyPacked {
		t.Errorf("%v", r.LeftOut)
	}
}

// A literal can be unpacked for every length.
func TestLiteralsCanBeUnpacked(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		content := append(bytes.Repeat([]byte{byte(n), 0, 7}, n), byte(n*n))
		section := writeSection("a", &side{content: []byte("\x00before")}, &side{content: content})
		got := 0
		for p, err := range secretscan.Unpack(section) {
			if got++; err != nil || !bytes.Equal(p.Content, content) || p.Path != "a" {
				t.Fatalf("%d: %v\n%s", n, err, section)
			}
		}
		if got != 1 {
			t.Errorf("%d: %d contents\n%s", n, got, section)
		}
	}
}
