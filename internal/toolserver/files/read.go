// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	readUsage = `"path", and optionally "offset" and "limit" in lines`

	// maxReadBytes is the largest file that read goes through. It is several times the size of any stored output.
	maxReadBytes = 64 << 20
	// noteReserve is reserved for the note about how to read on.
	noteReserve = 200
)

// errBinary is the error of scanLines for a file that is not text.
var errBinary = errors.New("not text")

// readTool returns lines of a text file with their numbers.
func (w fileTools) readTool(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.ReadArgs
	if bad := tool.Decode(j.Args, &args, readUsage); bad != nil {
		return *bad
	}
	if args.Offset < 0 || args.Limit < 0 {
		return tool.Failure(toolapi.CodeInvalidArguments, "offset and limit count lines from 1 and cannot be negative.")
	}
	local, err := w.Resolve(args.Path)
	if err != nil {
		return w.Failure("read", args.Path, err)
	}
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return w.Failure("read", args.Path, err)
	}
	defer file.Close()
	if info.IsDir() {
		return w.Failure("read", args.Path, syscall.EISDIR)
	}
	if info.Size() > maxReadBytes {
		return tool.Failure(toolapi.CodeTooLarge, "%s has %d bytes, and read takes files of up to %d MiB. A program can show a part of it (head, tail, sed -n).",
			workspace.Display(args.Path), info.Size(), maxReadBytes>>20)
	}
	ctx, cancel := context.WithTimeout(ctx, tool.FileTimeout)
	defer cancel()
	p := newPage(args, j.Limit)
	switch err := scanLines(ctx, io.LimitReader(file, maxReadBytes), p); {
	case ctx.Err() != nil:
		return tool.Interrupted(ctx, "while it read the file")
	case errors.Is(err, errBinary):
		return w.notText(args.Path, file)
	case err != nil:
		return w.Failure("read", args.Path, err)
	}
	return p.result(workspace.Display(args.Path))
}

// notText describes a file that cannot be shown.
func (w fileTools) notText(name string, file io.ReadSeeker) toolapi.Result {
	_, err := file.Seek(0, io.SeekStart)
	var head bytes.Buffer
	hash, size := sha256.New(), int64(0)
	if err == nil {
		_, err = io.CopyN(&head, io.TeeReader(file, hash), plaintext.SniffBytes)
		if err == nil {
			size, err = io.Copy(hash, io.LimitReader(file, maxReadBytes))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return w.Failure("read", name, err)
	}
	return tool.Failure(toolapi.CodeNotText, "%s is not UTF-8 text: %s. Only a program can look into it (od -c, iconv, unzip -l).",
		workspace.Display(name), plaintext.Describe(head.Bytes(), int64(head.Len())+size, hex.EncodeToString(hash.Sum(nil))))
}

// page is the part of a file that one read returns.
type page struct {
	first, most int // lines, from 1; most 0 means as many as fit
	room        int // bytes for lines
	text        strings.Builder
	lines       int // lines in text
	full        bool
	cutLine     int // bytes of the line that was cut because it alone exceeds the limit, or 0
	total       int // lines of the file
}

func newPage(args toolapi.ReadArgs, limit int) *page {
	return &page{first: max(1, int(args.Offset)), most: int(args.Limit), room: limit - noteReserve}
}

// line adds the next line of the file, with its newline. If a line is longer than lineRoom, text is only its beginning.
func (p *page) line(text string, length int) {
	p.total++
	if p.total < p.first || p.full {
		return
	}
	if p.most > 0 && p.lines == p.most {
		p.full = true
		return
	}
	clean := textlines.Numbered(p.total, plaintext.Clean(text))
	if p.text.Len()+len(clean) > p.room {
		p.full = true
		if p.lines > 0 {
			return
		}
		// The line would never fit, and the reader would ask for it for ever.
		p.cutLine = length
		clean = plaintext.First(clean, p.room)
	}
	p.text.WriteString(clean)
	p.lines++
}

func (p *page) result(name string) toolapi.Result {
	last := p.first + p.lines - 1
	text, note := p.text.String(), ""
	switch {
	case p.total == 0:
		return tool.Noted("", "[the file is empty]")
	case p.lines == 0 && p.first > p.total:
		return tool.Failure(toolapi.CodeInvalidArguments, "The offset %d is behind the end of %s, which has %d lines.", p.first, name, p.total)
	case p.cutLine > 0:
		note = fmt.Sprintf("[line %d of %d is cut: it has %d bytes; the lines after it begin at offset %d]", last, p.total, p.cutLine, last+1)
	case last < p.total:
		note = fmt.Sprintf("[lines %d-%d of %d; continue with offset %d]", p.first, last, p.total, last+1)
	case p.first > 1:
		note = fmt.Sprintf("[lines %d-%d of %d; this is the end]", p.first, last, p.total)
	}
	return tool.Noted(text, note)
}

// lineRoom is how much of a line is enough to fill the page and to know that there is more.
func (p *page) lineRoom() int { return max(p.room, 0) + utf8.UTFMax }

// scanLines passes every line of r to p. It goes through the whole file, for two reasons: a page shows the total number of lines ("of 950
// lines"), and a file may turn out to be binary after the first page. The memory that it takes does not depend on the file: a hostile one
// may be a single line.
func scanLines(ctx context.Context, r io.Reader, p *page) error {
	reader := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	var length int
	var check workspace.TextCheck
	for ctx.Err() == nil {
		part, err := reader.ReadSlice('\n')
		if !check.Text(part) {
			return errBinary
		}
		line = append(line, part[:min(len(part), max(0, p.lineRoom()-len(line)))]...)
		length += len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case length > 0:
			p.line(string(line), length)
		}
		if errors.Is(err, io.EOF) {
			if !check.Ended() {
				return errBinary
			}
			return nil
		}
		line, length = line[:0], 0
	}
	return ctx.Err()
}
