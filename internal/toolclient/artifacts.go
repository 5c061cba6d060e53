// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxArtifactsBytes fits the longest list, with every byte of its names escaped.
	maxArtifactsBytes = 1 << 20
	// maxChunkAnswerBytes fits the largest Chunk in base64.
	maxChunkAnswerBytes = toolapi.MaxChunkBytes*4/3 + 4<<10
)

// ErrTooLong reports that a file has more bytes than may be read.
var ErrTooLong = errors.New("the file has more bytes than may be read")

// Artifacts lists the files that belong to the run's result. The list is the sandbox's claim and must not be trusted.
func (c *Client) Artifacts(ctx context.Context) (toolapi.Artifacts, error) {
	var list toolapi.Artifacts
	err := c.request(ctx, exchange{
		method: http.MethodGet, path: toolapi.PathArtifacts, timeout: fileTimeout, into: &list, most: maxArtifactsBytes,
	})
	if err == nil && len(list.Files) > toolapi.MaxArtifacts {
		err = fmt.Errorf("%w: %d artifacts", ErrBadAnswer, len(list.Files))
	}
	if err != nil {
		return toolapi.Artifacts{}, err
	}
	return list, nil
}

// ReadArtifact writes the content of an artifact to w, piece by piece, and returns its size in bytes. The file may change
// while it is read. The error is ErrTooLong once it turns out to have more than most bytes, a RemoteError like that of GetFile
// if it cannot be read, or the unchanged error of w.
func (c *Client) ReadArtifact(ctx context.Context, path string, w io.Writer, most int64) (int64, error) {
	return c.readParts(ctx, toolapi.PathArtifacts, path, w, most)
}

// readParts reads a file from below a path of the API.
func (c *Client) readParts(ctx context.Context, below, path string, w io.Writer, most int64) (int64, error) {
	for read := int64(0); ; {
		chunk, err := c.chunk(ctx, below, path, read)
		if err != nil {
			return read, err
		}
		if read+int64(len(chunk.Content)) > most || chunk.Size > most {
			return read, ErrTooLong
		}
		n, err := w.Write(chunk.Content)
		read += int64(n)
		if err != nil || len(chunk.Content) < toolapi.MaxChunkBytes {
			return read, err
		}
	}
}

// chunk reads a part of a file.
func (c *Client) chunk(ctx context.Context, below, path string, offset int64) (toolapi.Chunk, error) {
	var chunk toolapi.Chunk
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}}
	err := c.request(ctx, exchange{
		method: http.MethodGet, path: below + "/" + escapePath(path) + "?" + query.Encode(),
		timeout: fileTimeout, into: &chunk, most: maxChunkAnswerBytes,
	})
	if err == nil && len(chunk.Content) > toolapi.MaxChunkBytes {
		err = fmt.Errorf("%w: a part of %d bytes", ErrBadAnswer, len(chunk.Content))
	}
	if err != nil {
		return toolapi.Chunk{}, err
	}
	return chunk, nil
}
