// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

// ReadText reads a file before it is changed: a regular file of at most toolapi.MaxFileBytes, UTF-8 without NUL. name is its path as the
// model wrote it. A file that is reached by a symbolic link is refused, because the replacement of a link would not be where the reader of
// the link looks.
func (w *Workspace) ReadText(local, name string) (string, fs.FileInfo, error) {
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if target, linkErr := w.Root.Readlink(local); linkErr == nil {
			err = BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf(
				"%s is a symbolic link to %s, and links are not changed. Give the path of the file itself.", Display(name), Display(target)))
		}
	}
	if file != nil {
		defer file.Close()
	}
	if err != nil {
		return "", nil, err
	}
	if info.IsDir() {
		return "", nil, syscall.EISDIR
	}
	// The bytes that are read count, and not the reported size of the file: it may grow meanwhile.
	content, err := io.ReadAll(io.LimitReader(file, toolapi.MaxFileBytes+1))
	if err != nil {
		return "", nil, err
	}
	if len(content) > toolapi.MaxFileBytes {
		return "", nil, BadPath(toolapi.CodeTooLarge, fmt.Sprintf(
			"%s has more than %d MiB, the most that is changed at once. A program can change it (sed).", Display(name), toolapi.MaxFileBytes>>20))
	}
	var check TextCheck
	if !check.Text(content) || !check.Ended() {
		sum := sha256.Sum256(content)
		return "", nil, BadPath(toolapi.CodeNotText, fmt.Sprintf("%s is not UTF-8 text: %s. Only a program that knows its format can change it.",
			Display(name), plaintext.Describe(content, int64(len(content)), hex.EncodeToString(sum[:]))))
	}
	return string(content), info, nil
}
