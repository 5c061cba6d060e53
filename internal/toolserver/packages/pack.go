// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package packages installs packages of npm, pip and the distribution without running anything of theirs, packs them into an archive, and
// unpacks that where a Pod uses them.
package packages

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// maxPackagePath is the longest path in an archive of packages, in bytes.
	maxPackagePath = 1024
	// packedFile and packedProgram are the only modes of files in it, and packedProgram that of its folders.
	packedFile    = 0o644
	packedProgram = 0o755
)

// errTooLarge is the error of packing and unpacking over toolapi.MaxPackedBytes and the limits beside it.
var errTooLarge = errors.New("the packages are too large")

func tooManyEntries() error {
	return fmt.Errorf("%w: they have more than %d files and folders", errTooLarge, toolapi.MaxPackageEntries)
}

func tooManyBytes() error {
	return fmt.Errorf("%w: unpacked they have more than %d MiB", errTooLarge, toolapi.MaxUnpackedBytes>>20)
}

// packed is an archive that was written.
type packed struct {
	sha256 string
	size   int64
}

// pack writes an archive of a folder's content to a file. The same files produce the same bytes, independent of their owner and their
// times. Entries that are neither a file nor a folder are omitted, and so is a symbolic link that leads out of the folder.
func pack(ctx context.Context, from *os.Root, to io.Writer) (packed, error) {
	sum := sha256.New()
	out := &limitedWriter{to: io.MultiWriter(to, sum), left: toolapi.MaxPackedBytes}
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return packed{}, err
	}
	p := &packer{ctx: ctx, from: from, tar: tar.NewWriter(compressed)}
	err = fs.WalkDir(from.FS(), ".", p.add)
	if err == nil {
		err = errors.Join(p.tar.Close(), compressed.Close())
	}
	if err != nil {
		return packed{}, err
	}
	return packed{sha256: hex.EncodeToString(sum.Sum(nil)), size: toolapi.MaxPackedBytes - out.left}, nil
}

// packer writes an archive.
type packer struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one walk
	from    *os.Root
	tar     *tar.Writer
	entries int
	bytes   int64
}

// add adds the entries of the walk, which is in the order of the names.
func (p *packer) add(name string, e fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case name == ".":
		return nil
	}
	if !packable(name) {
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	h := &tar.Header{Format: tar.FormatPAX, Name: name, Mode: packedFile}
	switch e.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, name+"/", packedProgram
	case fs.ModeSymlink:
		if h.Linkname = p.link(name); h.Linkname == "" {
			return nil
		}
		h.Typeflag = tar.TypeSymlink
	case 0:
		return p.addFile(h)
	default:
		return nil
	}
	return p.header(h)
}

// packable reports whether a path can be in an archive.
func packable(name string) bool {
	return len(name) <= maxPackagePath && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}

// link is where a symbolic link leads, "" if that is not to be in the archive.
func (p *packer) link(name string) string {
	to, err := p.from.Readlink(name)
	if err != nil || !packable(to) || !staysInside(name, to) {
		return ""
	}
	if _, err := p.from.Stat(name); err != nil {
		return "" // It leads out over another one, or nowhere.
	}
	return to
}

// staysInside reports whether a link does by its text.
func staysInside(name, to string) bool {
	return to != "" && !path.IsAbs(to) && isBelow(path.Join(path.Dir(name), to))
}

func isBelow(name string) bool { return name != ".." && !strings.HasPrefix(name, "../") }

func (p *packer) addFile(h *tar.Header) error {
	file, err := p.from.Open(h.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if info.Mode()&0o111 != 0 {
		h.Mode = packedProgram
	}
	if p.bytes += h.Size; p.bytes > toolapi.MaxUnpackedBytes {
		return tooManyBytes()
	}
	if err := p.header(h); err != nil {
		return err
	}
	_, err = io.CopyN(p.tar, workspace.Interruptible(p.ctx, file), h.Size)
	return err
}

func (p *packer) header(h *tar.Header) error {
	if p.entries++; p.entries > toolapi.MaxPackageEntries {
		return tooManyEntries()
	}
	return p.tar.WriteHeader(h)
}

// limitedWriter writes no more than so many bytes.
type limitedWriter struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, fmt.Errorf("%w: compressed they have more than %d MiB", errTooLarge, toolapi.MaxPackedBytes>>20)
	}
	n, err := l.to.Write(p)
	l.left -= int64(n)
	return n, err
}
