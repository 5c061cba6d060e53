// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst checks that the requests of a sandbox before an answer take no more than the proxy has for each of its connections.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race << 20, Time: 20 * time.Second}
	for name, head := range hostileHeads() {
		for pieces, reader := range map[string]io.Reader{"as a whole": strings.NewReader(head), "byte by byte": iotest.OneByteReader(strings.NewReader(head))} {
			worst.Within(t, name+", "+pieces, most, func() { egress.ReadHead(reader) })
		}
	}
	for name, hello := range hostileHellos() {
		for pieces, reader := range map[string]io.Reader{"as a whole": strings.NewReader(string(hello)), "byte by byte": iotest.OneByteReader(strings.NewReader(string(hello)))} {
			worst.Within(t, name+", "+pieces, most, func() { _, _ = egress.ReadHello(reader, "example.org") })
		}
	}
}

// hostileHeads are heads of requests that are as long as the proxy reads, and one that does not end.
func hostileHeads() map[string]string {
	const most, line = 64 << 10, "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n"
	fill := func(before, unit string) string {
		return before + strings.Repeat(unit, (most-len(before)-64)/len(unit))
	}
	var fields strings.Builder
	for i := range 127 {
		fmt.Fprintf(&fields, "X-%d: %s\r\n", i, strings.Repeat("x", most/127-16))
	}
	return map[string]string{
		"short lines":      fill(line, "a:\r\n") + "\r\n",
		"one name":         fill(line, strings.Repeat("x: y\r\n", 120)) + "\r\n",
		"long fields":      line + fields.String() + "\r\n",
		"one long field":   fill(line+"X: ", "x") + "\r\n\r\n",
		"a long name":      fill(line, "X-") + ": x\r\n\r\n",
		"a long target":    fill("GET http://example.org/", "%") + " HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"a long host":      fill("CONNECT ", "a.") + ":443 HTTP/1.1\r\n\r\n",
		"many blanks":      fill(line+"X:", " ") + "x\r\n\r\n",
		"without an end":   strings.Repeat("x", 4*most),
		"a long Host line": fill("CONNECT example.org:443 HTTP/1.1\r\nHost: ", "1") + "\r\n\r\n",
	}
}

// hostileHellos are messages that are as long as the proxy reads them, and one that announces a greater length.
func hostileHellos() map[string][]byte {
	// 16 KiB with the heads of records and the message around them.
	const most = 16<<10 - 256
	long := func(b []byte) []byte { return append([]byte{byte(len(b) >> 8), byte(len(b))}, b...) }
	extension := func(kind uint16, body []byte) []byte {
		return slices.Concat([]byte{byte(kind >> 8), byte(kind)}, long(body))
	}
	hello := func(suites int, extensions []byte) []byte {
		body := slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0}, long(slices.Repeat([]byte{0x13, 1}, suites)), []byte{1, 0}, long(extensions))
		return slices.Concat([]byte{22, 3, 1}, long(append([]byte{1, 0}, long(body)...)))
	}
	var kinds, shares []byte
	for i := range most / 4 {
		kinds = append(kinds, extension(uint16(0x4000+i), nil)...)
	}
	for i := range most / 5 {
		shares = append(shares, byte(i>>8), byte(i), 0, 1, 0)
	}
	protocols := slices.Repeat([]byte{1, 'a'}, (most-64)/2)
	name := extension(0, long(append([]byte{0}, long([]byte("example.org"))...)))
	hellos := map[string][]byte{
		"many suites":     hello(most/2-32, name),
		"many extensions": hello(1, kinds[:len(kinds)-64]),
		"many protocols":  hello(1, slices.Concat(name, extension(16, long(protocols)))),
		"many keys":       hello(1, slices.Concat(name, extension(51, long(shares[:len(shares)-100])))),
		"many groups":     hello(1, slices.Concat(name, extension(10, long(slices.Repeat([]byte{0, 29}, most/2-64))))),
		"many signatures": hello(1, slices.Concat(name, extension(13, long(slices.Repeat([]byte{4, 3}, most/2-64))))),
		"a long name":     hello(1, extension(0, long(append([]byte{0}, long([]byte(strings.Repeat("a.", most/2-64)))...)))),
		"a long ticket":   hello(1, slices.Concat(name, extension(35, make([]byte, most-128)))),
	}
	for name, h := range maps.Clone(hellos) {
		hellos[name+" in records of three bytes"] = inRecords(h, 3)
	}
	hellos["more than it says"] = append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 64<<10)...)
	hellos["empty records"] = slices.Repeat([]byte{22, 3, 1, 0, 0}, 16<<10)
	return hellos
}
