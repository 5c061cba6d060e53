// SPDX-License-Identifier: Apache-2.0

// Package archive is the form in which the steps of a finished run are kept outside of the cluster: JSON lines, each
// chained to the one before it. It writes and reads streams; where they go, and where the steps come from, is for others.
//
// A line is, with a line feed after it and no white space between its members,
//
//	{"seq":2,"prev":"sha256:…","kind":"MotorStep","object":{…},"digest":"sha256:…"}
//
// digest is the SHA-256 of the line's own bytes, from the first to the last before `,"digest"`. It is computed over the written bytes and
// not over their meaning. So a check has to encode nothing again, and no two spellings of an object are taken for the same. prev is the
// digest of the line before, Genesis in the first line; seq counts the lines from 1.
//
// The first line is the MotorRun as it ended, followed by its MotorSteps in the order of attempt and index. A line of kind End closes the
// chain. It has the number of steps and the digest of the last line before it, so that lines cut off the end are missed. The digest of that
// closing line is the head of the chain. A reader that stores it elsewhere, as the status of the run does, also detects a file that was
// written anew as a whole.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kinds of lines.
const (
	KindRun  = "MotorRun"
	KindStep = "MotorStep"
	KindEnd  = "End"
)

const (
	// MaxLine bounds a line. The API server takes no object of more than 3 MiB.
	MaxLine = 4 << 20
	// MaxSteps bounds a chain: a run has at most 10 attempts of at most 1000 steps.
	MaxSteps = 10_000
)

// Genesis is the digest that the first line has for the line before it. It changes with the format.
var Genesis = digestOf([]byte("motorcortex.dev/archive/v1"))

var (
	// ErrExists means that there is an object under the key already.
	ErrExists = errors.New("it exists already")
	// ErrNotFound means that there is no object under the key.
	ErrNotFound = errors.New("it does not exist")
	// ErrDifferent means that an archive is complete, but not that of the expected run.
	ErrDifferent = errors.New("the archive holds something else")
)

// BrokenLink is the first line at which a chain does not hold.
type BrokenLink struct {
	// Line of the file, from 1.
	Line int
	// Kind of the line, if it can be determined.
	Kind string
	// Name of the step, or of the run, that the line is about, if it can be determined. It comes from the file, and is bounded and free of
	// control characters.
	Name string
	// Problem describes the fault.
	Problem string
}

// Error names the link and describes its fault.
func (b *BrokenLink) Error() string {
	if what := strings.TrimSpace(b.Kind + " " + b.Name); what != "" {
		return fmt.Sprintf("line %d (%s): %s", b.Line, what, b.Problem)
	}
	return fmt.Sprintf("line %d: %s", b.Line, b.Problem)
}

// Manifest is the content of a chain, its steps by the digest of their bytes only.
type Manifest struct {
	// Namespace, Name and UID are those of the run.
	Namespace, Name, UID string
	// Head of the chain.
	Head string
	// Run is the object of the first line.
	Run json.RawMessage
	// Steps has for each step, by name, the digest of its object.
	Steps map[string]string
}

// IsDigest reports whether s is written as digests are.
func IsDigest(s string) bool {
	raw, found := strings.CutPrefix(s, digestPrefix)
	if !found || len(raw) != hex.EncodedLen(sha256.Size) || strings.ToLower(raw) != raw {
		return false
	}
	_, err := hex.DecodeString(raw)
	return err == nil
}

const (
	digestPrefix = "sha256:"
	digestLength = len(digestPrefix) + 2*sha256.Size
)

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// closing is the object of the last line.
type closing struct {
	Steps int    `json:"steps"`
	Head  string `json:"head"`
}
