// SPDX-License-Identifier: Apache-2.0

// Package durable writes files that are whole after a crash.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files that are not whole yet.
const TempPrefix = "new-"

// Write writes a file that is there whole after a crash, or not at all.
func Write(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*") // Mode 0600.
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir returns when the entries of a folder are on disk.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
