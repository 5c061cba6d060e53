// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"errors"
	"net/url"
	"strconv"
)

const (
	// MaxInputBytes is the most that an input file may have that comes in parts.
	MaxInputBytes = MaxArtifactBytes
	// ErrPartMissing (409): the earlier parts are not there any more; the file must be put from its beginning.
	ErrPartMissing = "part_missing"
)

// Part identifies which part of an input file the body of a PUT is. The parts come in their order, each with MaxChunkBytes but the
// last one. The file is in the workspace when the last one has come, and not before: until then File.SHA256 of the answers is "".
// If the answer to any part has it, the file is complete, and the remaining parts need not be sent.
type Part struct {
	// Offset is where the part begins.
	Offset int64
	// Size and SHA256 are those of the whole file.
	Size   int64
	SHA256 string
}

const partOffset, partSize, partSum = "offset", "size", "sha256"

// Query is the part in a URL.
func (p Part) Query() string {
	return url.Values{partOffset: {strconv.FormatInt(p.Offset, 10)}, partSize: {strconv.FormatInt(p.Size, 10)}, partSum: {p.SHA256}}.Encode()
}

// Length is how many bytes the part has.
func (p Part) Length() int64 { return min(p.Size-p.Offset, MaxChunkBytes) }

// Last reports whether the file ends with the part.
func (p Part) Last() bool { return p.Offset+p.Length() == p.Size }

// PartOf reads the part from a URL, nil if it names none: the body is a whole file then.
func PartOf(query url.Values) (*Part, error) {
	if !query.Has(partOffset) {
		return nil, nil
	}
	offset, err1 := strconv.ParseInt(query.Get(partOffset), 10, 64)
	size, err2 := strconv.ParseInt(query.Get(partSize), 10, 64)
	p := &Part{Offset: offset, Size: size, SHA256: query.Get(partSum)}
	switch {
	case errors.Join(err1, err2) != nil || size < 0 || size > MaxInputBytes:
		return nil, errors.New("offset and size of a part must be decimal numbers from 0, and size at most that of the largest input file")
	case offset < 0 || offset%MaxChunkBytes != 0 || offset > 0 && offset >= size:
		return nil, errors.New("the offset of a part must be a multiple of the size of parts, in the file")
	case !isSHA256(p.SHA256):
		return nil, errors.New("sha256 of a part must be 64 hexadecimal digits in lower case")
	}
	return p, nil
}

func isSHA256(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
