// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"io"
	"os"
)

// tailBytes bounds how much of a log is read for its end.
const tailBytes = 16 << 10

// Tail returns the last lines of a log file; it is best effort, since it explains another error.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
