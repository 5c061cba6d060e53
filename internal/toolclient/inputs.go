// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"errors"
	"fmt"
	"io"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// PutFileParts is PutFileFrom for a file of up to toolapi.MaxInputBytes that is not in memory. It reads the file from r in
// parts. It sends the last one only when r has ended without an error, so that r can still refuse the whole file then. An error
// of r is returned unchanged; ErrTooLong means a file with more than size bytes. If the workspace has the file already, r is not
// read to its end.
//
// A RemoteError with toolapi.ErrPartMissing means that the tool server was started again in between: put the file from its
// beginning.
func (c *Client) PutFileParts(ctx context.Context, path string, r io.Reader, size int64, sum string, from toolapi.Provenance) (toolapi.File, error) {
	for part := (toolapi.Part{Size: size, SHA256: sum}); ; part.Offset += toolapi.MaxChunkBytes {
		// A cancelled request may still be reading the former one.
		content := make([]byte, part.Length())
		if err := readPart(r, content, part.Last()); err != nil {
			return toolapi.File{}, err
		}
		file, err := c.putFile(ctx, exchange{path: filePath(path) + "?" + part.Query(), body: content, provenance: from})
		switch {
		case err != nil:
			return toolapi.File{}, err
		case file.SHA256 == sum:
			return file, nil
		case file.SHA256 != "" || part.Last():
			return toolapi.File{}, fmt.Errorf("%w: it has another file than was put there", ErrBadAnswer)
		}
	}
}

// readPart fills content, and makes sure that nothing follows the last part.
func readPart(r io.Reader, content []byte, last bool) error {
	if _, err := io.ReadFull(r, content); err != nil {
		return err
	}
	if !last {
		return nil
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == nil:
		return ErrTooLong
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
