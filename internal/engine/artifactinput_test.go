// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func TestOnlyWhatWasLeftBehindIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const content = "what the run left behind"
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		r    io.Reader
		want string
	}{
		"as it was":       {strings.NewReader(content), ""},
		"byte by byte":    {iotest.OneByteReader(strings.NewReader(content)), ""},
		"with its end":    {iotest.DataErrReader(strings.NewReader(content)), ""},
		"shorter":         {strings.NewReader(content[1:]), "is not what MotorRun earlier left behind"},
		"longer":          {strings.NewReader(content + "x"), "is not what MotorRun earlier left behind"},
		"without an end":  {io.MultiReader(strings.NewReader(content), neverEnding{}), "is not what MotorRun earlier left behind"},
		"other bytes":     {strings.NewReader(strings.ToUpper(content)), "is not what MotorRun earlier left behind"},
		"nothing":         {strings.NewReader(""), "is not what MotorRun earlier left behind"},
		"a broken bucket": {io.MultiReader(strings.NewReader(content[:5]), iotest.ErrReader(broken)), "read it from the bucket: broken"},
	} {
		left := &asLeft{
			r: tt.r, ref: &v1alpha1.ArtifactRef{Run: "earlier", Path: "a"}, sum: sha256.New(),
			artifact: &v1alpha1.Artifact{Path: "a", Size: int64(len(content)), SHA256: digest([]byte(content))},
		}
		got, err := io.ReadAll(left)
		switch {
		case tt.want == "" && (err != nil || string(got) != content || left.err != nil):
			t.Errorf("%s: %q, %v", name, got, err)
		case tt.want != "" && (!errors.Is(err, errNoArtifact) || !errors.Is(left.err, errNoArtifact) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

func TestARunIsGivenSoMuchFromTheBucket(t *testing.T) {
	t.Parallel()
	p := &inputPutter{left: 10}
	err := p.putFromBucket(t.Context(), "in", &v1alpha1.ArtifactRef{}, &v1alpha1.Artifact{Size: 11, Object: "k"}, toolapi.ProvenanceInternal)
	if !errors.Is(err, errInputsTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
}

func TestWhatBecomesOfARunWhoseFileCannotBePut(t *testing.T) {
	t.Parallel()
	remote := func(code string) error {
		return &toolclient.RemoteError{Status: http.StatusConflict, Code: code, Message: "the sandbox's words"}
	}
	for name, tt := range map[string]struct {
		err error
		// now and later are what it comes to at first, and when a minute is over.
		now, later string
	}{
		"an artifact is gone":        {errNoArtifact, "again", "the artifact cannot be had"},
		"a tool server that started": {remote(toolapi.ErrPartMissing), "again", "the sandbox's words"},
		"a file that is refused":     {remote(toolapi.ErrBadRequest), "the sandbox's words", "the sandbox's words"},
		"too much from the bucket":   {errInputsTooLarge, "256 MiB together", "256 MiB together"},
		"anything else":              {errors.New("other"), "other", "other"},
	} {
		now := noon
		p := &inputPutter{box: &sandboxTools{loop: &loop{}, engine: &Engine{Now: func() time.Time { return now }}}}
		for _, want := range []string{tt.now, tt.later} {
			err := p.failed(t.Context(), 3, "in", tt.err)
			failure, failed := errors.AsType[*motorloop.Failure](err)
			switch want {
			case "again":
				failed = failed || !errors.Is(err, errMissing)
			case "other":
				failed = !errors.Is(err, tt.err)
			default:
				failed = !failed || failure.Reason != motorloop.ReasonInputFile ||
					!strings.Contains(failure.Message, "spec.files[3]: in could not") || !strings.Contains(failure.Message, want)
			}
			if failed {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			now = now.Add(2 * missingFor)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.failed(stopped, 3, "in", tt.err); !errors.Is(err, tt.err) {
			t.Errorf("%s, and the loop is stopped: %v", name, err)
		}
	}
}
