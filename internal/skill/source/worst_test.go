// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst has an archive that is as hostile as it may be long take no more than the manager has for each of those that it reads at once.
// The files of an archive are kept until the skill is stored; a header is let go with the next one.
func TestWorst(t *testing.T) {
	// More headers cost as much again, and nothing of those before.
	const headers, headerBytes = 16, 1 << 20
	var small, same, long []*tar.Header
	for i := range maxEntries {
		small = append(small, file(fmt.Sprintf("assets/%d", i), 0))
		same = append(same, file("assets/same", 1))
	}
	for i := range headers {
		name := fmt.Sprintf("assets/%d/", i) + strings.Repeat("a/", headerBytes/2-64) + "a"
		long = append(long, &tar.Header{Name: name, Typeflag: tar.TypeReg, Format: tar.FormatGNU})
	}
	records := map[string]string{}
	for i := range 70_000 {
		records[fmt.Sprintf("V.%d", i)] = "v"
	}
	var extended []*tar.Header
	for i := range headers {
		h := file(fmt.Sprintf("assets/%d", i), 0)
		h.PAXRecords, h.Format = records, tar.FormatPAX
		extended = append(extended, h)
	}
	large := make([]*tar.Header, maxUnpackedBytes/skill.MaxFileBytes+1)
	for i := range large {
		large[i] = file(fmt.Sprintf("assets/%d", i), skill.MaxFileBytes)
	}
	for name, entries := range map[string][]*tar.Header{
		"entries": small, "the same file": same, "long names": long, "extended headers": extended, "large files": large,
		"one file": {file("assets/a", 2*maxUnpackedBytes)}, "one that is passed over": {file("other/a", 2*maxUnpackedBytes)},
	} {
		plain := archived(t, entries...)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, in := range []struct {
			kind string
			data []byte
		}{{"plain", plain}, {"gzip", packed.Bytes()}} {
			worst.Within(t, in.kind+", "+name, worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 512 << 20, Time: time.Minute}, func() {
				_ = untar(bytes.NewReader(in.data), "assets", &collection{}) // Most of them are none.
			})
		}
	}
	// Blocks of gzip that hold nothing cost time only, for as many bytes as are downloaded.
	empty := emptyBlocks(t, 8<<20)
	worst.Within(t, "gzip of nothing", worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 64 << 20, Time: time.Minute}, func() {
		_ = untar(bytes.NewReader(empty), "", &collection{})
	})
}

// emptyBlocks is a gzip stream of so many bytes that holds nothing.
func emptyBlocks(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, "a"); err != nil {
		t.Fatal(err)
	}
	for b.Len() < size {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestWorstManifest has the manifest of an artifact take no more than the manager has for each of those that it reads at once.
func TestWorstManifest(t *testing.T) {
	long := strings.Repeat("a", 400)
	for _, unit := range []string{`{},`, `{"annotations":{"a":"b"}},`, `{"annotations":{"` + long + `":"` + long + `"}},`, `{"digest":"` + long + `"},`, `{"data":"QUJD"},`, `{"a":1},`} {
		layers := min(maxManifestBytes/len(unit)-8, 2000)
		body := []byte(`{"layers":[` + strings.Repeat(unit, layers) + `{}]}`)
		worst.Within(t, "a manifest of "+unit, worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 32 << 20, Time: 20 * time.Second}, func() {
			var m ocispec.Manifest
			if err := decode(body, &m); err != nil {
				t.Errorf("%.40s is not read: %v", unit, err)
			}
		})
	}
	for _, unit := range []string{"{},", "[", `{"a":`, `"a":1,`} {
		body := []byte(`{"layers":[` + strings.Repeat(unit, maxManifestBytes/len(unit)-16))
		worst.Within(t, "too much of "+unit, worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 8 << 20, Time: 20 * time.Second}, func() {
			var m ocispec.Manifest
			if err := decode(body, &m); err == nil {
				t.Errorf("%s is read", unit)
			}
		})
	}
}
