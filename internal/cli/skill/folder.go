// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"motorcortex.dev/motorcortex/internal/skill"
)

// readFolder reads the files of a skill in a folder. left are files and folders that are none of it, and were not read. The error joins a
// *skill.Problem for each thing that is no file.
func readFolder(dir string) (files []skill.File, left []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	var links []error
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skill.LeftBehind(name):
			left = append(left, name)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			links = append(links, &skill.Problem{Path: shown(name), Message: "it is a link, or something else that is no file: replace it by a file"})
			return nil
		case len(files) > skill.MaxFiles:
			// There are too many, and Check reports that.
			return fs.SkipAll
		}
		f, err := readFile(root, name)
		files = append(files, f)
		return err
	})
	return files, left, errors.Join(append(links, err, root.Close())...)
}

// readFile reads a file, and no more of it than is needed to see that it is too large.
func readFile(root *os.Root, name string) (skill.File, error) {
	in, err := root.Open(name)
	if err != nil {
		return skill.File{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return skill.File{}, err
	}
	content, err := io.ReadAll(io.LimitReader(in, skill.MaxFileBytes+1))
	return skill.File{Path: name, Content: content, Executable: info.Mode()&0o111 != 0}, err
}

// nameOf is the name of a skill in a folder: that of the folder.
func nameOf(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Base(whole), nil
}

// policyFile is the file beside a folder that has the policy of the skill in it.
func policyFile(dir, name string) string { return filepath.Join(dir, "..", name+".yaml") }
