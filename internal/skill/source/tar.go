// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// maxEntries is the most entries of an archive, maxUnpackedBytes the most that it has when it is not compressed.
	maxEntries       = 10_000
	maxUnpackedBytes = 64 << 20
)

// errTooLong is the error for more bytes than the limit.
var errTooLong = errors.New("there is more to read than there may be")

// bounded reads at most left bytes and ends with errTooLong if there are more.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	// One byte beyond the limit distinguishes an exact end from too much.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLong
	}
	return n, err
}

// untar adds the files below a folder of an archive, which may be compressed with gzip. The folder "" is all of it.
func untar(in io.Reader, under string, files *collection) error {
	plain, err := decompress(in)
	if err != nil {
		return err
	}
	archive := tar.NewReader(&bounded{r: plain, left: maxUnpackedBytes})
	for range maxEntries {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return archiveError(err)
		case header.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		name, err := entryPath(header.Name)
		if err != nil {
			return err
		}
		if name, below := cutFolder(name, under); below {
			if err := addEntry(archive, header, name, files); err != nil {
				return err
			}
		}
	}
	return tooLarge("The archive has more than %d entries.", maxEntries)
}

// decompress detects the compression of the archive by its first bytes. Media types are not always correct.
func decompress(in io.Reader) (io.Reader, error) {
	r := bufio.NewReader(in)
	begin, err := r.Peek(4)
	switch {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return nil, invalid("The archive is empty.")
	case len(begin) == 0:
		return nil, archiveError(err)
	case bytes.HasPrefix(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, invalid("The archive is compressed with zstd. It can be a tar archive, or one that is compressed with gzip.")
	case !bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return r, nil
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, archiveError(err)
	}
	return unzipped, nil
}

func archiveError(err error) error {
	if errors.Is(err, errTooLong) {
		return tooLarge("The archive has more than %d MiB when it is unpacked.", maxUnpackedBytes>>20)
	}
	return invalid("The archive cannot be read: %s.", cause(err))
}

// entryPath is the name of an entry, cleaned of redundant elements. "." is the archive's own folder.
func entryPath(name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", invalid("The archive has %s, which is not within it.", quoted(name))
	}
	return clean, nil
}

// cutFolder is the path of an entry in a folder, false if it is not in it. The folder itself is ".".
func cutFolder(name, folder string) (string, bool) {
	if folder == "" || name == folder {
		return strings.TrimPrefix(name, folder), true
	}
	return strings.CutPrefix(name, folder+"/")
}

// addEntry adds an entry that is a file. Nothing but folders may be beside files.
func addEntry(archive io.Reader, header *tar.Header, name string, files *collection) error {
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeReg:
	case tar.TypeSymlink, tar.TypeLink:
		return invalid("%s in the archive is a link: a skill has files and folders only.", quoted(header.Name))
	default:
		return invalid("%s in the archive is no file: a skill has files and folders only.", quoted(header.Name))
	}
	if name == "" || name == "." {
		return invalid("%s in the archive is no folder.", quoted(header.Name))
	}
	content, err := io.ReadAll(io.LimitReader(archive, skill.MaxFileBytes+1))
	if err != nil {
		return archiveError(err)
	}
	return files.add(skill.File{Path: name, Content: content, Executable: header.Mode&0o111 != 0})
}

// withoutFolder takes the one folder away that all files are in, as people pack it, if it is a skill's: SKILL.md is in it, and
// has its name.
func withoutFolder(files []skill.File) ([]skill.File, error) {
	if len(files) == 0 {
		return nil, nil
	}
	folder, _, _ := strings.Cut(files[0].Path, "/")
	inner := make([]skill.File, 0, len(files))
	var manifest []byte
	for _, f := range files {
		name, below := strings.CutPrefix(f.Path, folder+"/")
		if !below {
			return files, nil
		}
		if name == skill.ManifestName {
			manifest = f.Content
		}
		f.Path = name
		inner = append(inner, f)
	}
	if manifest == nil {
		return files, nil
	}
	// skill.Check reports problems with a SKILL.md.
	if m, err := skill.ParseManifest(manifest); err == nil && m.Name != folder {
		return nil, invalid("The folder %s has a SKILL.md with the name %s: the two must be the same.", quoted(folder), quoted(m.Name))
	}
	return inner, nil
}
