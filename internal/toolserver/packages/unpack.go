// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// UnpackVerb is the argument with which this program is to be Unpack.
const UnpackVerb = "unpack"

const (
	// maxParts is how many files an archive may be in.
	maxParts = 64
	// maxEntryOverhead is the most of the stream that an entry takes beside its content, on the average.
	maxEntryOverhead = 4 << 10
	// maxUnpackedDepth is how many folders deep an entry may be.
	maxUnpackedDepth = 64
)

// Unpack unpacks an archive of packages, with the arguments that follow UnpackVerb:
//
//	--sha256 HEX FROM TO
//
// FROM is a folder with the parts of the archive in files 0000, 0001 and so on, TO an existing folder, whose content is replaced. Nothing
// is written unless the parts together have that SHA-256. Nothing is left unless the whole archive is valid as an archive of packages: its
// origin is not trusted. A problem is written to out in one line; the exit status is 1 then, and 2 for invalid arguments.
func Unpack(args []string, out io.Writer) int {
	flags := flag.NewFlagSet(UnpackVerb, flag.ContinueOnError)
	flags.SetOutput(out)
	sum := flags.String("sha256", "", "SHA-256 of the archive in hexadecimal digits")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 2 || len(*sum) != hex.EncodedLen(sha256.Size) {
		fmt.Fprintf(out, "usage: %s --sha256 HEX FROM TO\n", UnpackVerb)
		return 2
	}
	if err := unpack(flags.Arg(0), flags.Arg(1), *sum); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
}

func unpack(from, to, sum string) error {
	content, err := readParts(from)
	if err != nil {
		return err
	}
	if got := sha256.Sum256(content); !strings.EqualFold(hex.EncodeToString(got[:]), sum) {
		return fmt.Errorf("the parts are not the archive that was installed: their SHA-256 is %x", got)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// A Pod that is started again has the files that were unpacked before, or a part of them.
	if err := empty(root); err != nil {
		return err
	}
	u := &unpacker{to: root, links: map[string]string{}}
	if err := u.unpack(content); err != nil {
		return errors.Join(err, empty(root))
	}
	return nil
}

// readParts reads the parts in their order. Names with a dot in front are the kubelet's own.
func readParts(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if len(entries) == 0 || len(entries) > maxParts {
		return nil, fmt.Errorf("%s has %d parts and may have 1 to %d", dir, len(entries), maxParts)
	}
	var content []byte
	for i, e := range entries {
		if want := fmt.Sprintf("%04d", i); e.Name() != want {
			return nil, fmt.Errorf("%s has %q where the part %s belongs", dir, e.Name(), want)
		}
		file, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		part, err := io.ReadAll(io.LimitReader(file, toolapi.MaxPackedBytes+1-int64(len(content))))
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		if content = append(content, part...); len(content) > toolapi.MaxPackedBytes {
			return nil, fmt.Errorf("%w: compressed they have more than %d MiB", errTooLarge, toolapi.MaxPackedBytes>>20)
		}
	}
	return content, nil
}

// empty removes everything in a folder.
func empty(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// unpacker writes the content of an archive.
type unpacker struct {
	to      *os.Root
	entries int
	bytes   int64
	// links are the symbolic links. They are made last, so that nothing is written over one.
	links map[string]string
}

func (u *unpacker) unpack(content []byte) error {
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("the archive cannot be read: %w", err)
	}
	stream := &io.LimitedReader{R: compressed, N: toolapi.MaxUnpackedBytes + toolapi.MaxPackageEntries*maxEntryOverhead}
	archive := tar.NewReader(stream)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) && stream.N > 0 {
			break
		}
		if stream.N <= 0 {
			return tooManyBytes()
		}
		if err != nil {
			return fmt.Errorf("the archive cannot be read: %w", err)
		}
		if err := u.add(h, archive); err != nil {
			return err
		}
	}
	return u.link()
}

func (u *unpacker) add(h *tar.Header, content io.Reader) error {
	name, err := checkEntry(h)
	if err != nil {
		return err
	}
	if u.entries++; u.entries > toolapi.MaxPackageEntries {
		return tooManyEntries()
	}
	if h.Typeflag == tar.TypeDir {
		return u.to.MkdirAll(name, packedProgram)
	}
	if err := u.to.MkdirAll(path.Dir(name), packedProgram); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		if _, known := u.links[name]; known || !staysInside(name, h.Linkname) {
			return fmt.Errorf("the archive has a link %q to %q, which leads out of it or is there twice", name, h.Linkname)
		}
		u.links[name] = h.Linkname
		return nil
	}
	if u.bytes += h.Size; u.bytes > toolapi.MaxUnpackedBytes {
		return tooManyBytes()
	}
	return u.write(name, h, content)
}

// checkEntry returns the path of an entry that may be.
func checkEntry(h *tar.Header) (string, error) {
	name := strings.TrimSuffix(h.Name, "/")
	switch {
	case !packable(h.Name) || !filepath.IsLocal(name) || path.Clean(name) != name || name == ".":
		return "", fmt.Errorf("the archive has an entry with the path %q", h.Name)
	case strings.Count(name, "/") >= maxUnpackedDepth:
		return "", fmt.Errorf("the archive has the path %q, which is more than %d folders deep", h.Name, maxUnpackedDepth)
	}
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeSymlink:
		return name, nil
	case tar.TypeReg:
		if name == h.Name {
			return name, nil
		}
	}
	return "", fmt.Errorf("the archive has %q, which is no file, folder or symbolic link (type %q)", h.Name, h.Typeflag)
}

func (u *unpacker) write(name string, h *tar.Header, content io.Reader) error {
	mode := fs.FileMode(packedFile)
	if h.Mode&0o111 != 0 {
		mode = packedProgram
	}
	file, err := u.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode) // Independent of the umask.
	}
	return errors.Join(err, file.Close())
}

// link makes the symbolic links, and looks where they lead to: over another one it can be out of the folder.
func (u *unpacker) link() error {
	for name, to := range u.links {
		if err := u.to.Symlink(to, name); err != nil {
			return err
		}
	}
	for name, to := range u.links {
		if _, err := u.to.Stat(name); err != nil && workspace.Escapes(err) {
			return fmt.Errorf("the archive has a link %q to %q, which leads out of it", name, to)
		}
	}
	return nil
}
