// SPDX-License-Identifier: Apache-2.0

package box

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func TestOnlyWhatWasLeftBehindIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const content = "what the run left behind"
	broken, gone := errors.New("broken"), fmt.Errorf("read k: %w", archive.ErrNotFound)
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
		"gone meanwhile":  {io.MultiReader(strings.NewReader(content[:5]), iotest.ErrReader(gone)), "read k: it does not exist"},
		"a broken bucket": {io.MultiReader(strings.NewReader(content[:5]), iotest.ErrReader(broken)), "read the artifact from the bucket: broken"},
	} {
		left := &asLeft{
			r: tt.r, ref: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "a"}, sum: sha256.New(),
			artifact: &v1alpha1.Artifact{Path: "a", Size: int64(len(content)), SHA256: toolapi.SHA256([]byte(content))},
		}
		got, err := io.ReadAll(left)
		switch {
		case tt.want == "" && (err != nil || string(got) != content || left.err != nil):
			t.Errorf("%s: %q, %v", name, got, err)
		case tt.want != "" && (err == nil || !errors.Is(left.err, err) || errors.Is(err, errNoArtifact) == errors.Is(err, broken) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

// stallingBucket has one content, and returns each part after a pause.
type stallingBucket struct {
	runenv.Bucket
	content     string
	open, bytes time.Duration
}

// Read implements runenv.Bucket.
func (b stallingBucket) Read(ctx context.Context, _ string) (io.ReadCloser, error) {
	return io.NopCloser(stallingReader{ctx.Done(), strings.NewReader(b.content), b.bytes}), stall(ctx.Done(), b.open)
}

type stallingReader struct {
	done <-chan struct{}
	r    io.Reader
	wait time.Duration
}

// Read implements io.Reader.
func (r stallingReader) Read(p []byte) (int, error) {
	if err := stall(r.done, r.wait); err != nil {
		return 0, err
	}
	return r.r.Read(p[:1])
}

func stall(done <-chan struct{}, wait time.Duration) error {
	select {
	case <-done:
		return context.Canceled
	case <-time.After(wait):
		return nil
	}
}

// The time of the sandbox does not count as the bucket's, and a bucket that sends a little now and then is only slow.
func TestASlowSandboxCanBeGivenWhatIsInTheBucket(t *testing.T) {
	t.Parallel()
	const content = "in the bucket"
	synctest.Test(t, func(t *testing.T) {
		o, err := openObject(t.Context(), stallingBucket{content: content, open: bucketWait - 1, bytes: bucketWait - 1}, "k")
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(content) {
			time.Sleep(10 * bucketWait) //nolint:forbidigo // it is the bubble's time
			part := make([]byte, 1)
			if _, err := io.ReadFull(o, part); err != nil || part[0] != content[i] {
				t.Fatalf("the part %d is %q (%v)", i, part, err)
			}
		}
		if _, err := o.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestABucketThatStallsIsNotTheTasksFault(t *testing.T) {
	t.Parallel()
	cert := enginetest.ClientCertificate(t)
	for name, bucket := range map[string]stallingBucket{
		"at once":       {open: time.Hour},
		"in the middle": {content: "x", bytes: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			// Nothing is sent before there is a part of the file.
			tools, err := toolclient.New(toolclient.Config{Address: "127.0.0.1:1", PodUID: "pod", ClientCert: cert})
			if err != nil {
				t.Fatal(err)
			}
			p := &inputPutter{env: &runenv.Env{Bucket: bucket, Clock: runenv.Clock{Now: time.Now}, Absence: &runenv.Absence{}}, client: tools, left: 2}
			began := time.Now()
			for range 3 {
				err := p.putFromBucket(t.Context(), "in", &v1alpha1.ArtifactRef{}, &v1alpha1.Artifact{Size: 2, ObjectKey: "k"}, toolapi.ProvenanceInternal)
				err = p.failed(t.Context(), "spec.files[3]", "in", err)
				if _, failed := errors.AsType[*outcome.Failure](err); failed || errors.Is(err, runenv.ErrMissing) || !errors.Is(err, errBucketStalls) {
					t.Errorf("%s: %v after %s", name, err, time.Since(began))
				}
				p.left = 2
			}
			if took := time.Since(began); took != 3*bucketWait {
				t.Errorf("%s: three tries took %s", name, took)
			}
		})
	}
}

func TestARunIsGivenSoMuchFromTheBucket(t *testing.T) {
	t.Parallel()
	p := &inputPutter{left: 10}
	err := p.putFromBucket(t.Context(), "in", &v1alpha1.ArtifactRef{}, &v1alpha1.Artifact{Size: 11, ObjectKey: "k"}, toolapi.ProvenanceInternal)
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
		// now and later are the results at first, and after a minute.
		now, later string
	}{
		"an artifact is gone":        {errNoArtifact, "again", "the artifact cannot be had"},
		"a tool server that started": {remote(toolapi.ErrPartMissing), "again", "the sandbox's words"},
		"a file that is refused":     {remote(toolapi.ErrBadRequest), "the sandbox's words", "the sandbox's words"},
		"too much from the bucket":   {errInputsTooLarge, "256 MiB together", "256 MiB together"},
		"anything else":              {errors.New("other"), "other", "other"},
	} {
		now := enginetest.Noon
		p := &inputPutter{env: &runenv.Env{Clock: runenv.Clock{Now: func() time.Time { return now }}, Absence: &runenv.Absence{}}}
		for _, want := range []string{tt.now, tt.later} {
			err := p.failed(t.Context(), "spec.files[3]", "in", tt.err)
			failure, failed := errors.AsType[*outcome.Failure](err)
			switch want {
			case "again":
				failed = failed || !errors.Is(err, runenv.ErrMissing)
			case "other":
				failed = !errors.Is(err, tt.err)
			default:
				failed = !failed || failure.Reason != outcome.ReasonInputFile ||
					!strings.Contains(failure.Message, "spec.files[3]: in could not") || !strings.Contains(failure.Message, want)
			}
			if failed {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			now = now.Add(2 * runenv.MissingFor)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.failed(stopped, "spec.files[3]", "in", tt.err); !errors.Is(err, tt.err) {
			t.Errorf("%s, and the loop is stopped: %v", name, err)
		}
	}
}

// An artifact keeps its provenance in the next run. One of unknown provenance counts as from the web.
func TestProvenanceOfAnArtifact(t *testing.T) {
	t.Parallel()
	const content = "what the run left behind"
	for from, want := range map[string]string{"Internal": "", "Web": "Web", "": "Web"} {
		earlier := enginetest.ReadyRun()
		earlier.Name = "earlier"
		earlier.Status.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{
			{Path: "a", Size: int64(len(content)), SHA256: toolapi.SHA256([]byte(content)), ConfigMapName: "kept", Provenance: from},
		}}
		kept := &corev1.ConfigMap{Data: map[string]string{runenv.ContentKey: content}}
		kept.Namespace, kept.Name = earlier.Namespace, "kept"
		c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(earlier, kept).Build()
		marks := make(chan []string, 1)
		tools := enginetest.ToolsAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var answer any = toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()}
			if r.Method == http.MethodPut {
				marks <- r.Header.Values(toolapi.HeaderProvenance)
				answer = toolapi.File{}
			}
			_ = json.NewEncoder(w).Encode(answer)
		}))
		p := &inputPutter{env: enginetest.Env(t, c, enginetest.ReadyRun(), time.Now), client: tools}
		if err := p.putArtifact(t.Context(), "in", &v1alpha1.ArtifactRef{RunName: "earlier", Path: "a"}); err != nil {
			t.Errorf("%q: %v", from, err)
			continue
		}
		select {
		case got := <-marks:
			if strings.Join(got, ",") != want {
				t.Errorf("%q is put as %q", from, got)
			}
		default:
			t.Errorf("%q: no file was put", from)
		}
	}
}
