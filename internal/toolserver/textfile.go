// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

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

// readText reads a file that is to be changed: a regular file of at most toolapi.MaxFileBytes, UTF-8 without NUL. name is
// its path as the model gave it. A file that is reached by a link of its own is refused, because what replaces a link
// would not be where the reader of the link looks.
func (w *workspace) readText(local, name string) (string, fs.FileInfo, error) {
	file, info, err := w.openFile(local, os.O_RDONLY)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if target, linkErr := w.root.Readlink(local); linkErr == nil {
			err = &pathError{toolapi.CodeInvalidArguments, fmt.Sprintf(
				"%s is a symbolic link to %s, and links are not changed. Give the path of the file itself.", display(name), display(target))}
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
	// What is read counts, and not the size that the file says it has: it may grow meanwhile.
	content, err := io.ReadAll(io.LimitReader(file, toolapi.MaxFileBytes+1))
	if err != nil {
		return "", nil, err
	}
	if len(content) > toolapi.MaxFileBytes {
		return "", nil, &pathError{toolapi.CodeTooLarge, fmt.Sprintf(
			"%s has more than %d MiB, the most that is changed at once. A program can change it (sed).", display(name), toolapi.MaxFileBytes>>20)}
	}
	var check textCheck
	if !check.text(content) || !check.ended() {
		sum := sha256.Sum256(content)
		return "", nil, &pathError{toolapi.CodeNotText, fmt.Sprintf("%s is not UTF-8 text: %s. Only a program that knows its format can change it.",
			display(name), plaintext.Describe(content, int64(len(content)), hex.EncodeToString(sum[:])))}
	}
	return string(content), info, nil
}
