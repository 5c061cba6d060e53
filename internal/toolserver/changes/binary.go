// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// base85 are the digits of git.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// lineBytes is how many bytes a line of a binary patch holds.
const lineBytes = 52

// writeLiteral writes content as git does in a binary patch: in lines that begin with their length, with five digits for four bytes.
func writeLiteral(b *bytes.Buffer, content []byte) {
	packed := deflate(content)
	fmt.Fprintf(b, "GIT binary patch\nliteral %d\n", len(content))
	for len(packed) > 0 {
		line := packed[:min(len(packed), lineBytes)]
		packed = packed[len(line):]
		if n := len(line); n <= 26 {
			b.WriteByte(byte('A' + n - 1))
		} else {
			b.WriteByte(byte('a' + n - 27))
		}
		for len(line) > 0 {
			var four [4]byte
			line = line[copy(four[:], line):]
			writeDigits(b, binary.BigEndian.Uint32(four[:]))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func writeDigits(b *bytes.Buffer, n uint32) {
	var digits [5]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base85[n%85]
		n /= 85
	}
	b.Write(digits[:])
}

// deflate cannot fail: it writes into memory.
func deflate(content []byte) []byte {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(content)
	_ = w.Close()
	return packed.Bytes()
}
