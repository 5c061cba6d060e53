// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package tool defines a tool of the tool server: its job, its result, and the reasons for which it is ended.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// FileTimeout bounds the tools that only use files.
const FileTimeout = 30 * time.Second

// Tool is one tool of the server.
type Tool struct {
	// Alone is true if the tool starts processes or changes files. Only one such call runs at a time, so that every process below the server
	// is known to belong to the running call.
	Alone bool
	// Limit is the most bytes of output.
	Limit int
	// Run carries a call out. It ends when ctx does.
	Run func(ctx context.Context, j Job) toolapi.Result
}

// Job is the input of a tool.
type Job struct {
	// ID is the call's.
	ID string
	// Args are the arguments, in JSON.
	Args []byte
	// Key is the call's idempotency key, "" if it has none.
	Key string
	// Limit is the most bytes of output of this call.
	Limit int
}

// DecodeStrictly reads exactly one JSON value without unknown fields. A field that one side does not know is a disagreement
// about the format that must not pass in silence: it may be what bounds the effect of the request.
func DecodeStrictly(content []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more behind the JSON value")
	}
	return nil
}
