// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// largeContent is larger than an object, and than two parts of a file.
var largeContent = strings.Repeat("0123456789abcde\n", toolapi.MaxChunkBytes/8) + "the end"

// measuredBucket notes the most that was asked for at once of what is read from it.
type measuredBucket struct {
	runenv.Bucket
	most atomic.Int64
}

func (b *measuredBucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.Bucket.Read(ctx, key)
	return &measuredRead{r, &b.most}, err
}

type measuredRead struct {
	io.ReadCloser
	most *atomic.Int64
}

func (r *measuredRead) Read(p []byte) (int, error) {
	r.most.Store(max(r.most.Load(), int64(len(p))))
	return r.ReadCloser.Read(p)
}

// inBucket puts a content there and makes the earlier run that says it has left largeContent.
func (r *engineRig) inBucket(store runenv.Bucket, content, provenance string) {
	r.t.Helper()
	must(r.t, store.WriteArtifact(r.ctx, "k/1", func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(content))
		return err
	}))
	r.earlier(v1alpha1.Artifact{Path: "a", Size: int64(len(largeContent)), SHA256: hexSum(largeContent), ObjectKey: "k/1", Provenance: provenance})
}

func TestEngineGivesLargeArtifactsOfTheBucket(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ provenance, want string }{
		"its own":    {"Internal", "Internal"},
		"of the web": {"Web", "Web"},
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := fileBucket(t)
			measured := &measuredBucket{Bucket: store}
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", bashCall("mkdir artifacts; sha256sum in.txt; cp in.txt artifacts/out.txt; echo more >> artifacts/out.txt")), says("done"),
			}}, wantsArtifact("a"))
			r.inBucket(store, largeContent, tt.provenance)
			r.startEngineWith("worker-1", func(e *engine.Engine) { e.Artifacts = measured })
			steps := r.ended(2)
			if got := resultAt(t, steps, 0, 0); got.Output != hexSum(largeContent)+"  in.txt\n" || got.Provenance != tt.want {
				t.Errorf("the run finds %+v, want it of %s", got, tt.want)
			}
			// What it makes of it can be given on.
			out := artifactAt(t, steps, 1, 0)
			if out.ObjectKey == "" || out.SHA256 != hexSum(largeContent+"more\n") || out.Provenance != tt.want {
				t.Errorf("it leaves %+v, want it of %s", out, tt.want)
			}
			if most := measured.most.Load(); most == 0 || most > toolapi.MaxChunkBytes {
				t.Errorf("%d bytes were read at once", most)
			}
		})
	}
}

func TestEngineRefusesOtherContentsOfTheBucket(t *testing.T) {
	t.Parallel()
	changed := strings.Replace(largeContent, "the end", "THE END", 1)
	for name, content := range map[string]string{
		"another content": changed,
		"shorter":         largeContent[:len(largeContent)-1],
		"longer":          largeContent + "x",
		"a short one":     "x",
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := fileBucket(t)
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, wantsArtifact("a"))
			r.inBucket(store, content, "Internal")
			var looked atomic.Int32
			r.startEngineWith("worker-1", func(e *engine.Engine) {
				e.Artifacts, e.Live = store, readsOf{e.Live, "earlier", &looked}
				// It holds while the clock is put forward.
				e.Config.LeaseDuration = time.Hour
			})
			// It may come back, for a minute.
			r.waitFor(func() bool { return looked.Load() >= 2 })
			r.skipped.Store(int64(2 * time.Minute))
			steps := r.ended(1)
			if o := steps[0].Spec.Outcome; o == nil || o.Reason != outcome.ReasonInputFile || !strings.Contains(o.Message, "is not what MotorRun earlier left behind") {
				t.Errorf("the journal is %+v", steps[0].Spec)
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "in.txt")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is in the workspace: %v", err)
			}
		})
	}
}
